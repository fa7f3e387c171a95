"""Settings: file < environment < flags; an invalid setting is refused with the nearest valid one."""

from pathlib import Path
from typing import Any

import pytest

from postino.config import load_config
from postino.errors import ConfigError


def test_flags_override_the_environment_which_overrides_the_file(tmp_path: Path) -> None:
    (tmp_path / "postino.toml").write_text("[worker]\nconcurrency = 1\nlease = 30\n[queue]\nmax_attempts = 9\n")
    config = load_config(
        tmp_path, {"worker": {"concurrency": 3}}, {"POSTINO_WORKER_CONCURRENCY": "2", "POSTINO_WORKER_LEASE": "40"}
    )
    assert (config.worker.concurrency, config.worker.lease, config.queue.max_attempts) == (3, 40.0, 9)


def test_the_defaults_work_without_file_and_environment(tmp_path: Path) -> None:
    config = load_config(tmp_path, environment={})
    assert config.database_url == f"sqlite:///{tmp_path}/postino.db"
    assert (config.queue.max_attempts, config.queue.retry_backoff) == (5, {"base": 60, "factor": 2, "max": 3600})


def test_the_data_directory_comes_from_the_environment(tmp_path: Path) -> None:
    assert load_config(environment={"POSTINO_DATA_DIR": str(tmp_path)}).data_dir == tmp_path
    assert load_config(environment={"XDG_DATA_HOME": str(tmp_path)}).data_dir == tmp_path / "postino"


def test_a_tilde_in_the_data_directory_is_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "queue").mkdir()
    (tmp_path / "queue" / "postino.toml").write_text("[worker]\nconcurrency = 7\n")
    config = load_config(environment={"POSTINO_DATA_DIR": "~/queue"})
    assert (config.data_dir, config.worker.concurrency) == (tmp_path / "queue", 7)


def test_a_table_can_come_from_file_or_environment(tmp_path: Path) -> None:
    (tmp_path / "postino.toml").write_text("[channels.instagram]\nmax_attempts = 2\nretry_backoff = {base = 1}\n")
    config = load_config(tmp_path, environment={"POSTINO_QUEUE_RETRY_BACKOFF": '{"base": 5, "factor": 3, "max": 50}'})
    assert config.queue.retry_backoff == {"base": 5, "factor": 3, "max": 50}
    assert config.channels["instagram"].max_attempts == 2


@pytest.mark.parametrize(
    ("file", "environment", "message"),
    [
        ("[worker]\nconcurency = 5", {}, "concurrency"),
        ("[wroker]\nlease = 5", {}, "worker"),
        ("[channels.x]\nmax_atempts = 5", {}, "max_attempts"),
        ("", {"POSTINO_WORKER_CONCURENCY": "5"}, "POSTINO_WORKER_CONCURRENCY"),
        ("", {"POSTINO_WORKER_CONCURRENCY": "many"}, "a whole number, not 'many'"),
        ("[worker]\nconcurrency = 'many'", {}, "a whole number, not 'many'"),
        ("[worker]\nconcurrency = true", {}, "a whole number, not True"),
        ("[worker]\nconcurrency = 0", {}, "worker.concurrency must be a number greater than 0"),
        ("[worker]\nlease = inf", {}, "worker.lease must be a number greater than 0 and at most 86,400"),
        ("[worker]\nstall = nan", {}, "worker.stall must be"),
        ("[worker]\ndrain = -1", {}, "worker.drain must be"),
        ("[queue]\ntime_limit = 40000000", {}, "queue.time_limit must be"),
        ("[queue]\nmax_attempts = 1001", {}, "queue.max_attempts must be"),
        ("[queue]\nretry_backoff = {max = inf}", {}, "queue.retry_backoff.max must be"),
        ("[api]\nrate = 1e300", {}, "api.rate must be"),
        ("", {"POSTINO_PUBLISHING_SEND_WITHIN": "nan"}, "publishing.send_within must be"),
        ("[channels.x]\nmax_attempts = 1.5", {}, "channels.x.max_attempts must be a whole number"),
        ("[channels.x]\ntime_limit = 1e308", {}, "channels.x.time_limit must be"),
        ("[worker]\nheartbeat = 7", {}, "less than a third of worker.lease"),
        ("[worker]\npoll = 2", {}, "worker.poll"),
        ("[queue]\nretry_backoff = {bsae = 1}", {}, "base"),
        ("[queue]\nretry_backoff = {base = -1}", {}, "queue.retry_backoff.base must be a number from 0"),
        ("[queue]\nretry_backoff = {factor = 'x'}", {}, "queue.retry_backoff.factor must be a number"),
        ("worker = 3", {}, "worker in .* must be a table of settings, not 3"),
        ("[channels]\ninstagram = 3", {}, "channels.instagram in .* must be a table of settings, not 3"),
        ("", {"POSTINO_FOO": "1"}, "Use one of: POSTINO_API"),
        ("[database]\nurl = 'mysql://x'", {}, "database.url must start with"),
        ("not toml", {}, "cannot be read"),
    ],
)
def test_an_invalid_setting_is_reported_by_name(
    tmp_path: Path, file: str, environment: dict[str, str], message: str
) -> None:
    (tmp_path / "postino.toml").write_text(file)
    with pytest.raises(ConfigError, match=message):
        load_config(tmp_path, environment=environment)


@pytest.mark.parametrize(
    ("section", "wrong"),
    [
        ({"outbound": {"http_origins": ["https://social.example"]}}, "outbound.http_origins"),
        ({"outbound": {"http_origins": ["http://social.example/"]}}, "outbound.http_origins"),
        ({"outbound": {"http_origins": ["http://u@social.example"]}}, "outbound.http_origins"),
        ({"api": {"trusted_proxies": ["*"]}}, "api.trusted_proxies"),
        ({"api": {"trusted_proxies": ["10.0.0.1/8"]}}, "api.trusted_proxies"),
        ({"api": {"trusted_proxies": ["proxy.example"]}}, "api.trusted_proxies"),
        ({"api": {"trusted_proxies": [7]}}, "api.trusted_proxies"),
        ({"networks": {"allowed_private_origins": ["http://10.0.0.7/x"]}}, "networks.allowed_private_origins"),
        ({"sandbox": {"url": "http://127.0.0.1:8701/x#"}}, "sandbox.url"),
        ({"sandbox": {"url": "http://user@127.0.0.1:8701"}}, "sandbox.url"),
    ],
)
def test_setting_that_is_not_an_origin_is_refused(tmp_path: Path, section: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load_config(tmp_path, section, {})
    assert raised.value.field == wrong
