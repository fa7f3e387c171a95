"""`postino.testing`: an app in memory runs handlers by the rules of a real worker, on a clock that a test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from postino import Call, Defer, Event, Exponential, Job, Outcome, Postino, Reject, State, WrongUse
from postino.testing import MemoryApp, SandboxServer, VirtualClock

pytest_plugins = ["postino.testing.fixtures"]
MINUTE = timedelta(minutes=1)


@pytest.fixture
async def app() -> AsyncIterator[MemoryApp]:
    async with MemoryApp() as app:
        yield app


async def test_due_jobs_and_their_children_run_at_once(app: MemoryApp) -> None:
    @app.handler("parent")
    async def parent(job: Job, payload: str, call: Call) -> None:
        await call.enqueue("child", payload)

    @app.handler("child")
    def child(job: Job, payload: str) -> Outcome | None:
        return Reject("too long") if len(payload) > 3 else None

    await app.enqueue("parent", "yes")
    await app.enqueue("parent", "never")
    ran = await app.run_due()
    assert sorted((job.type, job.state) for job in ran) == [
        ("child", State.COMPLETED), ("child", State.FAILED), ("parent", State.COMPLETED), ("parent", State.COMPLETED),
    ]  # fmt: skip
    assert await app.run_due() == []


async def test_later_jobs_and_retries_run_when_the_clock_reaches_them(app: MemoryApp) -> None:
    attempts = []

    @app.handler("flaky", max_attempts=3, backoff=Exponential(60, 2, 600))
    async def flaky(job: Job) -> None:
        attempts.append(app.clock.now)
        if job.attempts < 3:
            raise ConnectionError("not yet")

    start = app.clock.now
    job = await app.enqueue("flaky", at=start + 10 * MINUTE)
    assert await app.run_due() == []
    assert (await app.run_until(start + 10 * MINUTE))[0].state is State.PENDING
    [ended] = await app.run_until(start + 60 * MINUTE)
    assert (ended.id, ended.state, ended.attempts) == (job.id, State.COMPLETED, 3)
    assert attempts[0] == start + 10 * MINUTE
    assert timedelta(seconds=60) <= attempts[1] - attempts[0] < timedelta(seconds=90)
    assert app.clock.now == start + 60 * MINUTE


async def test_a_job_that_is_not_ready_waits_for_its_time(app: MemoryApp) -> None:
    ready_at = app.clock.now + 5 * MINUTE

    @app.handler("wait")
    async def wait(job: Job) -> Outcome | None:
        return Defer(ready_at, "not ready") if app.clock.now < ready_at else None

    await app.enqueue("wait")
    assert [job.state for job in await app.run_due()] == [State.PENDING]
    assert [job.state for job in await app.run_until(ready_at)] == [State.COMPLETED]


async def test_paused_jobs_do_not_run_and_do_not_stop_the_clock(app: MemoryApp) -> None:
    app.handler("work")(lambda: None)
    await app.enqueue("work")
    await app.pause("channel", "work")
    until = app.clock.now + MINUTE
    assert (await app.run_until(until), app.clock.now) == ([], until)
    await app.resume("channel", "work")
    assert [job.state for job in await app.run_due()] == [State.COMPLETED]


async def test_handlers_listeners_and_settings_come_from_another_app(tmp_path: Any) -> None:
    mine = Postino(f"sqlite:///{tmp_path}/never.db")
    events: list[str] = []

    @mine.handler("work", queue="low")
    async def work(job: Job, payload: list[int]) -> int:
        return sum(payload)

    @mine.on("job.failed")
    async def listen(event: Event) -> None:
        events.append(event.type)

    async with MemoryApp(mine, clock=VirtualClock()) as app:
        await app.enqueue("work", [1, 2])
        [job] = await app.run_until(app.clock.now + 24 * 60 * MINUTE)
    assert "must return" in (job.last_error or "")
    assert events == ["job.failed"]
    assert not (tmp_path / "never.db").exists()


async def test_an_app_in_memory_refuses_to_run_a_worker(app: MemoryApp) -> None:
    with pytest.raises(WrongUse, match="run_due"):
        await app.work()


def test_a_virtual_clock_never_goes_back() -> None:
    clock = VirtualClock()
    with pytest.raises(ValueError, match="never goes back"):
        clock.advance(-MINUTE)


async def test_posts_are_published_to_the_sandbox(postino_sandbox: SandboxServer) -> None:
    account = postino_sandbox.account("mastodon")
    async with MemoryApp(sandbox_url=postino_sandbox.url) as app:
        await app.accounts.add("mastodon", account.handle, dict(account.credentials), base_url=account.base_url)
        await app.enqueue(
            "postino.post", {"parts": ["Hello"]}, channel="mastodon", account=f"mastodon:{account.handle}"
        )
        [job] = await app.run_due()
    assert job.state is State.COMPLETED, job.last_error
    assert [post["text"] for post in postino_sandbox.published("mastodon")] == ["Hello"]
