"""`postino migrate`, `postino dispatch-due`, and ways not to reach a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from postino.cli import DESCRIPTION
from postino.cli.connection import Target
from tests.cli.conftest import Postino
from tests.cli.local_queue import LocalQueue
from tests.documents import README


def test_migrate_lists_applied_migrations_once(folder: Path, postino: Postino) -> None:
    first = postino("migrate")
    assert (first.code, first.rows[0]) == (0, "applied 0001_initial")
    assert postino("migrate").out == "The database is up to date.\n"
    assert postino("migrate", "--json").json == {"applied": [], "settings_version": 1}
    assert (folder / "postino.db").exists()


def test_migrate_stores_the_blackouts_and_caps_of_the_settings(folder: Path, postino: Postino) -> None:
    postino("migrate")
    (folder / "postino.toml").write_text(
        '[channels.bluesky]\ncap = 2\n\n[[queue.blackout_windows]]\nscope = "all"\nstart = "22:00"\nend = "07:00"\n'
        'timezone = "Europe/Rome"\n'
    )
    stored = "stored the blackout windows and caps of the settings (version 2)\n"
    assert postino("migrate").out == stored
    assert postino("queues", "list", "--json").json["caps"]["bluesky"] == 2
    assert len(postino("blackouts", "list", "--json").json["data"]) == 1
    assert postino("migrate").out == "The database is up to date.\n"


@pytest.mark.parametrize("command", ["dispatch-due", "publishing:dispatch-due"])
def test_due_jobs_are_dispatched_once(command: str, local_queue: LocalQueue, postino: Postino) -> None:
    local_queue.enqueue()
    assert postino(command).out == "1 due job dispatched.\n"
    assert postino(command, "--json").json == {"dispatched": 0}


def test_help_hides_alias_of_dispatch_due(postino: Postino) -> None:
    help_text = postino("--help").out
    assert "dispatch-due" in help_text
    assert "publishing:dispatch-due" not in help_text


def test_help_has_first_sentence_of_readme(postino: Postino) -> None:
    first_paragraph = " ".join((README.read_text().split("\n\n")[1]).split())
    assert first_paragraph == f"**{DESCRIPTION}**"
    assert DESCRIPTION in " ".join(postino("--help").out.split())


def test_reading_commands_never_create_a_database(tmp_path: Path, postino: Postino) -> None:
    answer = postino("jobs", "list", "--data-dir", tmp_path / "typo")
    assert answer.code == 5
    assert f"postino migrate --data-dir {tmp_path / 'typo'}`" in answer.err
    assert not (tmp_path / "typo").exists()


def test_unreachable_database_is_exit_code_5(postino: Postino) -> None:
    pytest.importorskip("asyncpg")
    answer = postino("jobs", "list", "--json", "--database-url", "postgresql://127.0.0.1:1/nothing")
    assert (answer.code, answer.out, answer.error["type"]) == (5, "", "store_unreachable")


def test_empty_database_suggests_migrate(tmp_path: Path, postino: Postino) -> None:
    (tmp_path / "empty.db").touch()
    url = f"sqlite:///{tmp_path / 'empty.db'}"
    answer = postino("jobs", "list", "--database-url", url)
    assert answer.code == 5
    assert f"postino migrate --database-url {url}`" in answer.err


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ada:s3cret@db/p", "'postgresql://ada:…@db/p'"),
        ("postgresql://ada@db/p?password=s3cret&x=1", "'postgresql://ada@db/p?password=…&x=1'"),
        ("postgresql://db:5432/p", "postgresql://db:5432/p"),
    ],
)
def test_suggested_commands_mask_passwords(url: str, shown: str) -> None:
    assert Target(database_url=url).format_options() == f" --database-url {shown}"


def test_suggested_commands_can_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/opt/the venv/bin/postino", "up"])
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert Target().format_command("jobs list") == "'/opt/the venv/bin/postino' jobs list"
    monkeypatch.setattr("sys.argv", ["/opt/postino/__main__.py", "up"])
    assert Target().format_command("jobs list").endswith(" -m postino jobs list")
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/postino")
    assert Target(Path("my data")).format_command("jobs list") == "postino jobs list --data-dir 'my data'"


def test_invalid_setting_is_named(
    local_queue: LocalQueue, folder: Path, postino: Postino, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert postino("jobs", "list", "--database-url", "mysql://x").code == 2
    monkeypatch.setenv("POSTINO_WORKER_CONCURENCY", "3")
    answer = postino("jobs", "list")
    assert answer.code == 2
    assert "POSTINO_WORKER_CONCURRENCY" in answer.err
    monkeypatch.undo()


def test_data_directory_that_is_a_file_is_wrong_use(
    tmp_path: Path, postino: Postino, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    for command in (["jobs", "list"], ["migrate"], ["up"], ["worker", "--app", "any:app"]):
        answer = postino(*command, "--data-dir", file)
        assert (answer.code, answer.err) == (2, f"--data-dir: {file} is a file, not a directory.\n")
    monkeypatch.setenv("POSTINO_DATA_DIR", str(file))
    assert postino("jobs", "list").err == f"POSTINO_DATA_DIR: {file} is a file, not a directory.\n"


def test_invalid_utf8_is_wrong_use(local_queue: LocalQueue, postino: Postino) -> None:
    for arguments in (["jobs", "list", "--type", "\udcff"], ["queues", "pause", "--channel", "\udcff"]):
        answer = postino(*arguments)
        assert answer.code == 2
        assert "not valid UTF-8" in answer.err


def test_missing_or_unknown_command_is_wrong_use(postino: Postino) -> None:
    for arguments in ([], ["jobs"], ["frobnicate"], ["jobs", "frobnicate"]):
        assert postino(*arguments).code == 2
