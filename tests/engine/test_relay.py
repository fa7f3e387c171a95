"""Listeners get every event, in order, at least once."""

import asyncio
from pathlib import Path

import pytest

from postino import Event, Job, Outcome, Postino, Reject
from postino.engine import relay
from postino.stores.records import AuditContext
from postino.values.database import DatabaseAnswer
from tests.engine.conftest import make_config, run_worker, wait_for, wait_for_end


async def test_listener_gets_its_event_types_in_order(app: Postino) -> None:
    heard: list[Event] = []
    enough = asyncio.Event()

    @app.handler("work")
    async def work(job: Job, payload: bool) -> Outcome | None:
        return None if payload else Reject("no")

    @app.on("job.completed", "job.failed")
    async def listen(event: Event) -> None:
        heard.append(event)
        if len(heard) == 4:
            enough.set()

    async with run_worker(app):
        jobs = [await wait_for_end(app, await app.enqueue("work", good)) for good in (True, False, True, False)]
        async with asyncio.timeout(10):
            await enough.wait()
    assert [(event.job_id, event.type) for event in heard] == [(job.id, f"job.{job.state}") for job in jobs]
    assert heard[1].data["error"] == "no"
    assert heard == sorted(heard, key=lambda event: event.cursor)


async def test_failed_listener_gets_the_same_event_again(app: Postino, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "RETRY_DELAY", 0.01)
    heard: list[object] = []
    enough = asyncio.Event()

    @app.handler("work")
    async def work() -> None: ...

    @app.on("job.completed")
    async def listen(event: Event) -> None:
        heard.append(event.job_id)
        if len(heard) == 1:
            raise RuntimeError("not now")
        if len(set(heard)) == 2:
            enough.set()

    async with run_worker(app):
        first = await wait_for_end(app, await app.enqueue("work"))
        second = await wait_for_end(app, await app.enqueue("work"))
        async with asyncio.timeout(10):
            await enough.wait()
    assert heard == [first.id, first.id, second.id]


async def test_listener_resumes_from_its_cursor(app: Postino, database_url: str, tmp_path: Path) -> None:
    heard: list[object] = []

    async def listen(event: Event) -> None:
        heard.append(event.job_id)

    app.handler("work")(lambda: None)
    app.on("job.completed", name="keeper")(listen)
    async with run_worker(app):
        first = await wait_for_end(app, await app.enqueue("work"))
        await wait_for_events(heard, 1)
    async with Postino(make_config(tmp_path, database_url)) as restarted:
        restarted.handler("work")(lambda: None)
        restarted.on("job.completed", name="keeper")(listen)
        async with run_worker(restarted):
            second = await wait_for_end(restarted, await restarted.enqueue("work"))
            await wait_for_events(heard, 2)
    assert heard == [first.id, second.id]


@pytest.mark.parametrize("from_start", [False, True])
async def test_new_or_renamed_listener_hears_from_its_first_start_on(app: Postino, from_start: bool) -> None:
    heard: list[object] = []

    async def listen(event: Event) -> None:
        heard.append(event.job_id)

    app.handler("work")(lambda: None)
    async with run_worker(app):
        old = await wait_for_end(app, await app.enqueue("work"))
    app.on("job.completed", name="renamed", from_start=from_start)(listen)
    async with run_worker(app):
        new = await wait_for_end(app, await app.enqueue("work"))
        expected = [old.id, new.id] if from_start else [new.id]
        await wait_for_events(heard, len(expected))
    assert heard == expected


async def test_listener_that_never_ran_hears_what_happened_since_its_registration(app: Postino) -> None:
    heard: list[object] = []

    async def listen(event: Event) -> None:
        heard.append(event.job_id)

    app.handler("work")(lambda: None)
    listener = relay.EventListener("new", frozenset({"job.completed"}), listen)
    await relay.start_relays(app.store, [listener], "died at once", poll=0.01)
    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("work"))
    [later] = await relay.start_relays(app.store, [listener], "later", poll=0.01)

    async def has_delivered() -> bool:
        await later.deliver_batch()
        return heard == [job.id]

    await wait_for(has_delivered)


async def wait_for_events(heard: list[object], wanted: int) -> None:
    async def enough() -> bool:
        return len(heard) >= wanted

    await wait_for(enough)


async def test_slow_listener_keeps_its_cursor(app: Postino, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "CURSOR_LEASE", 0.2)
    monkeypatch.setattr(relay, "MOVE_EVERY", 0.05)
    heard: list[object] = []

    async def slowly(event: Event) -> None:
        await asyncio.sleep(0.03)
        heard.append(event.job_id)

    app.handler("work")(lambda: None)
    async with run_worker(app):
        jobs = [await wait_for_end(app, await app.enqueue("work")) for _ in range(20)]
    listener = relay.EventListener("slow", frozenset({"job.completed"}), slowly, from_start=True)
    rivals = [relay.Relay(app.store, listener, holder, poll=0.01) for holder in ("one", "two")]
    tasks = [asyncio.create_task(rival.run()) for rival in rivals]
    await wait_for_events(heard, 20)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert heard == [job.id for job in jobs]


async def test_listener_hears_that_the_database_was_closed(app: Postino) -> None:
    """Events are delivered although nothing else runs, so that a listener can tell a person."""
    heard: list[str] = []

    @app.on("database.standing_changed")
    async def notify(event: Event) -> None:
        heard.append(event.data["standing"])

    async def is_in_use() -> bool:
        return (await app.store.database_state()).installation is not None

    async def has_heard() -> bool:
        return heard == ["copy"]

    async with run_worker(app):
        await wait_for(is_in_use)
        why = AuditContext("maria", "a staging clone")
        await app.store.accept_database(DatabaseAnswer.COPY, None, "another", "next era", why)
        await wait_for(has_heard)
