"""A second host with another vault.key, as real processes on one database."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from postino.cli.up import prepare
from postino.config import Config, DatabaseConfig, QueueConfig
from postino.publishing.vault_keys import WrongVaultKey
from postino.stores.records import AuditContext
from postino.values.post import AccountState
from postino.vault.key_file import read_or_create
from postino.wiring import Postino

pytestmark = pytest.mark.slow  # it starts processes
WITHIN = 60.0


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/postino.db"
    url: str = request.getfixturevalue("postgres_url")
    return url


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "postino", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=WITHIN, check=False)


async def test_host_with_another_vault_key_starts_neither_server_nor_worker(database_url: str, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    app = Postino(Config(data_dir=first, database=DatabaseConfig(url=database_url)))
    await app.store.migrate()
    async with app:
        await app.accounts.add("mastodon", "anna", {"access_token": "x"}, base_url="https://social.example")
        read_or_create(second / "vault.key")
        there = ("--data-dir", second, "--database-url", database_url)
        for command in (("server", "--port", 0), ("worker",), ("keys", "add", "phone", "--role", "viewer")):
            refused = run(*command, *there)
            assert refused.returncode == 5, refused.stderr
            assert f"{first}/vault.key" in refused.stderr
            assert f"Copy that file to {second}/vault.key" in refused.stderr.replace("\n", " ")
        assert (await app.store.account("mastodon:anna")).state is AccountState.ACTIVE
        assert await app.store.workers() == []
        shutil.copy(first / "vault.key", second / "vault.key")
        assert run("keys", "add", "phone", "--role", "viewer", *there).returncode == 0


@pytest.mark.parametrize("has_check_value", [True, False])
async def test_up_with_another_vault_key_changes_nothing(
    database_url: str, tmp_path: Path, has_check_value: bool
) -> None:
    night = {"scope": "channel", "channel": "mastodon", "start": "22:00", "end": "07:00", "timezone": "Europe/Rome"}
    queue = QueueConfig(blackout_windows=[night])
    config = Config(data_dir=tmp_path / "first", database=DatabaseConfig(url=database_url), queue=queue)
    await prepare(config)
    app = Postino(config)
    async with app:
        before = await app.store.blackouts(), await app.store.settings()
        assert len(before[0]) == 1
        if not has_check_value:
            await app.store.replace_vault_keys([], AuditContext("maria"))
        read_or_create(tmp_path / "second" / "vault.key")
        other = Config(data_dir=tmp_path / "second", database=DatabaseConfig(url=database_url))
        with pytest.raises(WrongVaultKey, match=f"{tmp_path}/second/vault.key on this machine"):
            await prepare(other)
        assert (await app.store.blackouts(), await app.store.settings()) == before


async def test_reset_gives_up_lost_keys(database_url: str, tmp_path: Path) -> None:
    app = Postino(Config(data_dir=tmp_path / "first", database=DatabaseConfig(url=database_url)))
    await app.store.migrate()
    async with app:
        await app.accounts.add("mastodon", "anna", {"access_token": "x"}, base_url="https://social.example")
        there = ("--data-dir", tmp_path / "second", "--database-url", database_url)
        reset = run("vault", "reset", "--reason", "the disk is gone", *there)
        assert reset.returncode == 0, reset.stderr
        assert "postino accounts reconnect mastodon:anna" in reset.stdout
        assert (await app.store.account("mastodon:anna")).state is AccountState.LOCKED
