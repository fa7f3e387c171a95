"""Runs that end in the middle of a visible call, and handlers that do not let themselves be ended."""

import asyncio
import contextlib
from typing import Any

import pytest

from postino import Call, Done, Job, Outcome, Postino, State
from postino.rules.settlement import MIN_LOOKUPS
from postino.values.ledger import ReceiptEntry, ReceiptSource, RecordedReceipt, Verdict
from postino.values.provider import NEVER, SAME_HANDLE, NotFound
from tests.engine.conftest import ended, eventually, working
from tests.engine.network import QUICK, Network, facts_of, publishes, waiting_for_a_person
from tests.engine.test_call import only_sqlite


async def test_a_worker_told_to_stop_leaves_a_doubt_and_not_a_second_try(app: Postino) -> None:
    network = Network("hanging")
    publishes(app, network)
    async with working(app, drain=0.05):
        job = await app.enqueue("publish", "hello")
        await network.reached.wait()
    stopped = await app.store.job(job.id)
    assert (stopped.state, stopped.run_at) == (State.UNCERTAIN, stopped.lookup_at)
    async with working(app):
        assert (await ended(app, job)).state is State.COMPLETED
    assert (network.sends, len(network.looks)) == (1, 1)


@pytest.mark.parametrize("attempts", [1, 3])
async def test_a_time_limit_leaves_a_doubt_and_not_a_second_try(app: Postino, attempts: int) -> None:
    network = Network("hanging")
    publishes(app, network, time_limit=0.2, max_attempts=attempts)
    async with working(app):
        job = await app.enqueue("publish", "hello")
        assert (await ended(app, job, State.UNCERTAIN)).lookup_at is not None
        assert (await ended(app, job)).state is State.COMPLETED
    assert (network.sends, len(network.looks)) == (1, 1)


async def test_a_fact_is_written_although_its_run_is_told_to_stop_meanwhile(app: Postino) -> None:
    network, note = Network(), app.store.record_receipt
    writing, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(job_id: Any, fact: ReceiptEntry) -> RecordedReceipt:
        writing.set()
        await go_on.wait()
        return await note(job_id, fact)

    app.store.record_receipt = slowly
    publishes(app, network)
    async with working(app, drain=0.05):
        job = await app.enqueue("publish", "hello")
        await writing.wait()
    assert (await app.store.job(job.id)).state is State.UNCERTAIN
    go_on.set()

    async def known() -> bool:
        return await facts_of(app, job) == [(1, Verdict.ACCEPTED, ReceiptSource.CALL)]

    await eventually(known)
    async with working(app):
        assert (await ended(app, job)).remote_id == "id of hello"
    assert (network.sends, network.looks) == (1, [])


@only_sqlite
async def test_one_stopped_before_its_call_left_sends_nothing_and_is_looked_for(app: Postino) -> None:
    """Between the wish to intend and the answer that it is written."""
    network, intend = Network(), app.store.record_intents
    writing = asyncio.Event()

    async def lost(intents: Any) -> Any:
        await intend(intents)
        writing.set()
        await asyncio.sleep(60)

    app.store.record_intents = lost
    publishes(app, network, resend=SAME_HANDLE)
    async with working(app, drain=0.05):
        job = await app.enqueue("publish", "hello")
        await writing.wait()
    app.store.record_intents = intend
    assert network.sends == 0
    assert (await app.store.job(job.id)).may_be_live
    async with working(app):
        assert (await ended(app, job)).state is State.COMPLETED
    assert (network.sends, len(network.looks)) == (1, 1)


# Handlers that do not let go


@only_sqlite
async def test_a_handler_that_catches_exceptions_does_not_catch_the_end_of_its_run(app: Postino) -> None:
    network = Network("lost")

    @app.handler("publish")
    async def publish(job: Job, payload: str, call: Call) -> None:
        with contextlib.suppress(Exception):
            await call.with_policy(QUICK).once("post", network.post, payload, found=network.find, resend=NEVER)

    async with working(app):
        job = await app.enqueue("publish", "hello")
        await ended(app, job, State.UNCERTAIN)
        await ended(app, job)
    assert (network.sends, len(network.looks)) == (1, 1)


@only_sqlite
@pytest.mark.parametrize("way", ["suppress", "gather"])
async def test_one_that_catches_everything_is_not_believed_when_it_says_done(app: Postino, way: str) -> None:
    network = Network("lost", seen=NotFound())

    @app.handler("publish")
    async def publish(job: Job, payload: str, call: Call) -> None:
        sending = call.with_policy(QUICK).once("post", network.post, payload, found=network.find, resend=NEVER)
        if way == "gather":
            await asyncio.gather(sending, return_exceptions=True)
        else:
            with contextlib.suppress(BaseException):
                await sending

    async with working(app):
        await waiting_for_a_person(app, await app.enqueue("publish", "hello"))
    assert (network.sends, len(network.looks)) == (1, MIN_LOOKUPS - 1)


async def test_two_visible_calls_at_once_each_leave_their_trace(app: Postino) -> None:
    network = Network("lost", "lost")

    @app.handler("publish")
    async def publish(job: Job, payload: list[str], call: Call) -> Outcome:
        both = call.with_policy(QUICK)
        receipts = await asyncio.gather(
            *(both.once(text, network.post, text, found=network.find, resend=NEVER) for text in payload)
        )
        return Done([receipt.remote_id for receipt in receipts])

    async with working(app):
        job = await ended(app, await app.enqueue("publish", ["one", "two"]))
    assert (job.state, job.result) == (State.COMPLETED, '["id of one", "id of two"]')
    assert sorted(network.posts) == ["one", "two"]
    assert [intent.step for intent in (await app.store.ledger(job.id)).intents] == ["one", "two"]
