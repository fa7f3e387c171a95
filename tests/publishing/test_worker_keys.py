"""Workers of two hosts on one database, of which one lacks a vault key."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from postino import Postino, State
from postino.publishing import accounts
from postino.publishing.post_request import PostRequest
from postino.values.content import Content
from postino.values.job import Job
from postino.values.post import AccountState
from postino.vault.key_file import add_key
from postino.wiring import Postino as App
from tests.engine.conftest import database_url, make_config, run_worker, wait_for, wait_for_end
from tests.engine.fake_network import wait_until_parked
from tests.publishing.fake_network import FakeNetwork, connect, open_app

__all__ = ["database_url"]


async def create_post(app: Postino) -> Job:
    request = PostRequest(content=Content(body="hello"), accounts=("mastodon:anna",))
    (written,) = await app.posts.schedule(request)
    return written.post.job


def count_calls(app: Postino, name: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Return a function that says how often this operation of the store was called."""
    operation: Callable[..., Awaitable[Any]] = getattr(app.store, name)
    calls: list[None] = []

    async def count(*arguments: Any, **options: Any) -> Any:
        calls.append(None)
        return await operation(*arguments, **options)

    monkeypatch.setattr(app.store, name, count)
    return lambda: len(calls)


async def migrate(folder: Path, url: str) -> None:
    app = App(make_config(folder, url))
    await app.store.migrate()
    await app.close()


async def test_worker_without_the_vault_key_claims_nothing_until_it_has_a_copy(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, network = tmp_path / "first", tmp_path / "second", FakeNetwork()
    monkeypatch.setattr(accounts, "UNLOCK_EVERY", 0.05)
    await migrate(first, database_url)
    async with open_app(first, network, database_url) as host, open_app(second, network, database_url) as other:
        claims, polls = count_calls(other, "claim", monkeypatch), count_calls(other, "poll", monkeypatch)
        async with run_worker(other, poll=0.05):  # it starts before any key exists

            async def has_polled() -> bool:
                return polls() >= 3

            await wait_for(has_polled)
            await connect(host)
            job = await create_post(host)
            seen = polls()

            async def has_polled_again() -> bool:
                return polls() >= seen + 12

            await wait_for(has_polled_again)
            assert claims() <= 2
            assert (await other.store.job(job.id)).state is State.PENDING
            assert (await other.store.account("mastodon:anna")).state is AccountState.ACTIVE
            second.mkdir(exist_ok=True)
            shutil.copy(first / "vault.key", second / "vault.key")
            assert (await wait_for_end(other, job)).state is State.COMPLETED
    assert network.posts == ["hello"]


async def test_post_given_back_for_lack_of_the_key_goes_at_once_to_the_worker_that_has_it(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, network = tmp_path / "first", tmp_path / "second", FakeNetwork()
    await migrate(first, database_url)
    async with open_app(first, network, database_url) as host, open_app(second, network, database_url) as other:
        claims, polls = count_calls(other, "claim", monkeypatch), count_calls(other, "poll", monkeypatch)
        async with run_worker(other):  # it starts before any key exists

            async def has_polled() -> bool:
                return polls() >= 3

            await wait_for(has_polled)
            await connect(host)
            job = await create_post(host)
            held = await wait_until_parked(host, job)
            assert held.run_at == job.run_at, "it keeps its place"
            async with run_worker(host):
                assert (await wait_for_end(host, job)).state is State.COMPLETED
        assert claims() == 1
    assert network.posts == ["hello"]


async def test_post_whose_key_only_another_host_has_is_deferred(database_url: str, tmp_path: Path) -> None:
    first, second, network = tmp_path / "first", tmp_path / "second", FakeNetwork()
    await migrate(first, database_url)
    async with open_app(first, network, database_url) as host, open_app(second, network, database_url) as other:
        await host.vault_keys.load()
        second.mkdir(exist_ok=True)
        shutil.copy(first / "vault.key", second / "vault.key")
        add_key(first / "vault.key")
        await connect(host)
        async with run_worker(other):
            held = await wait_until_parked(other, await create_post(host))
            assert held.run_at is not None
            assert held.run_at > datetime.now(UTC) + timedelta(seconds=15)
            assert (await other.store.account("mastodon:anna")).state is AccountState.ACTIVE
            shutil.copy(first / "vault.key", second / "vault.key")
            await other.reschedule(held.id, None)
            assert (await wait_for_end(other, held)).state is State.COMPLETED
    assert network.posts == ["hello"]
