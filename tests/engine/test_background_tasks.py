"""What runs beside a worker or a server survives errors that nobody expected, or says that it has ended."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest
from structlog.testing import capture_logs

from postino.api import event_stream
from postino.api.event_stream import EventStream, StreamListener, Subscriber
from postino.engine.duties import run_beside
from postino.publishing import accounts
from postino.publishing.accounts import AccountService
from postino.stores.memory import memory_store
from postino.values.event import Cursor
from postino.wakeups import postgres
from postino.wakeups.postgres import PostgresWakeup

TIMES = 3


class Failing:
    """Fails as nobody expects, and waits after some times."""

    def __init__(self) -> None:
        self.calls = 0
        self.enough = asyncio.Event()

    async def __call__(self, *_: Any, **__: Any) -> Any:
        self.calls += 1
        if self.calls >= TIMES:
            self.enough.set()
            await asyncio.Event().wait()
        raise asyncpg.InternalClientError("unexpected")


async def run_until(work: Awaitable[None], enough: asyncio.Event) -> None:
    running = asyncio.ensure_future(work)
    await asyncio.wait([running, asyncio.ensure_future(enough.wait())], return_when=asyncio.FIRST_COMPLETED, timeout=20)
    assert enough.is_set()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def test_part_of_a_worker_that_ends_is_logged_and_the_worker_goes_on() -> None:
    async def fail() -> None:
        raise RuntimeError("unexpected")

    async def work() -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    with capture_logs() as logs:
        await run_beside(work(), [fail()])
    [log] = logs
    assert (log["event"], log["log_level"]) == ("background.failed", "error")
    assert log["task"].endswith("fail")


async def test_locked_accounts_are_checked_again_after_any_error(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Failing()
    monkeypatch.setattr(accounts, "UNLOCK_EVERY", 0.0)
    monkeypatch.setattr(AccountService, "unlock", failing)
    await run_until(AccountService.keep_unlocking(AccountService.__new__(AccountService)), failing.enough)


async def test_wakeups_connect_again_after_any_error(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Failing()
    monkeypatch.setattr(postgres, "RECONNECT_DELAY", 0.0)
    monkeypatch.setattr(asyncpg, "connect", failing)
    wakeup = PostgresWakeup("postgresql://localhost/none")
    await run_until(wakeup.keep_connected(None, "postgresql://localhost/none"), failing.enough)


def make_stream(monkeypatch: pytest.MonkeyPatch) -> EventStream:
    monkeypatch.setattr(event_stream, "RETRY_DELAY", 0.0)
    stream = EventStream(memory_store(lambda: datetime.now(UTC)), recheck_interval=0.0)
    stream.position = Cursor()
    return stream


async def test_event_stream_reads_again_after_any_error(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Failing()
    stream = make_stream(monkeypatch)
    monkeypatch.setattr(stream, "read_page", failing)
    await run_until(stream.read(), failing.enough)


async def test_client_whose_access_cannot_be_checked_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, checks = make_stream(monkeypatch), Failing()

    async def fail() -> bool:
        raise RuntimeError("unexpected")

    async def accept() -> bool:
        checks.calls += 1
        if checks.calls >= TIMES:
            checks.enough.set()
        return True

    odd = StreamListener(lambda one: one, Cursor(), Subscriber("odd", fail))
    usual = StreamListener(lambda one: one, Cursor(), Subscriber("usual", accept))
    stream.connected.update((odd, usual))
    await run_until(stream.check_access(), checks.enough)
    assert (odd.ended_by is not None, usual.ended_by) == (True, None)
