"""Runs that end in the middle of a visible call, and handlers that ignore the end of their run."""

import asyncio
import contextlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from postino import Call, Done, Job, Outcome, Postino, State
from postino.clock import uptime
from postino.engine.call import Call as EngineCall
from postino.engine.call_context import CallContext
from postino.engine.circuit_monitor import CircuitMonitor
from postino.engine.job_ledger import JobLedger, StopRun
from postino.engine.quota_meter import QuotaMeter
from postino.outbound.http import OutboundHttp
from postino.rules.quota import Quota
from postino.rules.settlement import MIN_ATTEMPTS_BEFORE_ASKING, release_job
from postino.stores.records import ClaimRequest, QuotaUsageFilter, SettledJob, WorkerInfo
from postino.values.gate import Scope
from postino.values.job import new_id
from postino.values.ledger import ReceiptEntry, ReceiptSource, RecordedReceipt, Verdict
from postino.values.provider import NEVER, SAME_HANDLE, NotFound
from tests.engine.conftest import run_worker, wait_for, wait_for_end
from tests.engine.fake_network import QUICK, FakeNetwork, get_facts, register_publisher, wait_for_person
from tests.engine.test_call import only_sqlite


async def test_stopped_worker_leaves_the_call_uncertain(app: Postino) -> None:
    network = FakeNetwork("hanging")
    register_publisher(app, network)
    async with run_worker(app, drain=0.05):
        job = await app.enqueue("publish", "hello")
        await network.reached.wait()
    stopped = await app.store.job(job.id)
    assert (stopped.state, stopped.run_at) == (State.UNCERTAIN, stopped.lookup_at)
    async with run_worker(app):
        assert (await wait_for_end(app, job)).state is State.COMPLETED
    assert (network.sends, len(network.lookups)) == (1, 1)


@pytest.mark.parametrize("attempts", [1, 3])
async def test_time_limit_leaves_the_call_uncertain(app: Postino, attempts: int) -> None:
    network = FakeNetwork("hanging")
    register_publisher(app, network, time_limit=0.2, max_attempts=attempts)
    async with run_worker(app):
        job = await app.enqueue("publish", "hello")
        assert (await wait_for_end(app, job, State.UNCERTAIN)).lookup_at is not None
        assert (await wait_for_end(app, job)).state is State.COMPLETED
    assert (network.sends, len(network.lookups)) == (1, 1)


async def test_receipt_is_stored_although_its_run_is_cancelled(app: Postino) -> None:
    network, note = FakeNetwork(), app.store.record_receipt
    writing, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(job_id: Any, entry: ReceiptEntry) -> RecordedReceipt:
        writing.set()
        await go_on.wait()
        return await note(job_id, entry)

    app.store.record_receipt = slowly
    register_publisher(app, network)
    async with run_worker(app, drain=0.05):
        job = await app.enqueue("publish", "hello")
        await writing.wait()
    assert (await app.store.job(job.id)).state is State.UNCERTAIN
    go_on.set()

    async def has_receipt() -> bool:
        return await get_facts(app, job) == [(1, Verdict.ACCEPTED, ReceiptSource.CALL)]

    await wait_for(has_receipt)
    async with run_worker(app):
        assert (await wait_for_end(app, job)).remote_id == "id of hello"
    assert (network.sends, network.lookups) == (1, [])


@only_sqlite
async def test_run_stopped_before_sending_is_looked_up(app: Postino) -> None:
    """Between the wish to intend and the answer that it is written."""
    network, intend = FakeNetwork(), app.store.record_intents
    writing = asyncio.Event()

    async def lost(*arguments: Any) -> Any:
        await intend(*arguments)
        writing.set()
        await asyncio.sleep(60)

    app.store.record_intents = lost  # type: ignore[assignment]
    register_publisher(app, network, resend=SAME_HANDLE)
    async with run_worker(app, drain=0.05):
        job = await app.enqueue("publish", "hello")
        await writing.wait()
    app.store.record_intents = intend
    assert network.sends == 0
    assert (await app.store.job(job.id)).may_be_live
    async with run_worker(app):
        assert (await wait_for_end(app, job)).state is State.COMPLETED
    assert (network.sends, len(network.lookups)) == (1, 1)


@pytest.mark.parametrize("taken", [False, True])
async def test_call_of_a_lost_run_releases_its_quota(app: Postino, taken: bool) -> None:
    """The job goes on later after the reservation, or another worker takes it over and reserves the same."""
    await app.store.register_worker(WorkerInfo(id="w", host="here", pid=1))
    await app.enqueue("publish", account="acme")
    poll = await app.store.poll("w")
    (claimed,) = await app.store.claim(ClaimRequest(worker="w", token=new_id(), free=1, poll=poll))

    async def lose(_: Any) -> None:
        if not taken:
            await app.store.settle([SettledJob(claimed, release_job(claimed, datetime.now(UTC)))])

    quota = Quota(name="day", most=1, whose=Scope.ACCOUNT, costs={"post": 1}, period=timedelta(days=1))
    meter = QuotaMeter(app.store, {"publish": [quota]})
    ours = replace(claimed, token=new_id()) if taken else claimed
    async with OutboundHttp() as outbound:
        circuits = CircuitMonitor(app.store, {}, lambda: datetime.now(UTC), lambda: None)
        context = CallContext(
            app.enqueue_spec, outbound, lambda: datetime.now(UTC), uptime, lambda: None, circuits, meter
        )
        call = EngineCall(JobLedger(app.store, lose, ours), context, QUICK)
        with pytest.raises(StopRun):
            await call.once("post", FakeNetwork().post, "hello", found=None, resend=NEVER)
    usage = QuotaUsageFilter(channel="publish", quota="day", account="acme", since_at=claimed.created_at)
    [spent] = await app.store.quota_usage([usage])
    assert len(spent) == taken


# Handlers that do not let go


@only_sqlite
async def test_handler_that_catches_exceptions_does_not_catch_stop_run(app: Postino) -> None:
    network = FakeNetwork("lost")

    @app.handler("publish")
    async def publish(job: Job, payload: str, call: Call) -> None:
        with contextlib.suppress(Exception):
            await call.with_policy(QUICK).once("post", network.post, payload, found=network.find, resend=NEVER)

    async with run_worker(app):
        job = await app.enqueue("publish", "hello")
        await wait_for_end(app, job, State.UNCERTAIN)
        await wait_for_end(app, job)
    assert (network.sends, len(network.lookups)) == (1, 1)


@only_sqlite
@pytest.mark.parametrize("way", ["suppress", "gather"])
async def test_done_from_a_handler_that_swallows_stop_run_is_ignored(app: Postino, way: str) -> None:
    network = FakeNetwork("lost", lookup_result=NotFound())

    @app.handler("publish")
    async def publish(job: Job, payload: str, call: Call) -> None:
        sending = call.with_policy(QUICK).once("post", network.post, payload, found=network.find, resend=NEVER)
        if way == "gather":
            await asyncio.gather(sending, return_exceptions=True)
        else:
            with contextlib.suppress(BaseException):
                await sending

    async with run_worker(app):
        await wait_for_person(app, await app.enqueue("publish", "hello"))
    assert (network.sends, len(network.lookups)) == (1, MIN_ATTEMPTS_BEFORE_ASKING - 1)


async def test_two_concurrent_visible_calls_each_leave_an_intent(app: Postino) -> None:
    network = FakeNetwork("lost", "lost")

    @app.handler("publish")
    async def publish(job: Job, payload: list[str], call: Call) -> Outcome:
        both = call.with_policy(QUICK)
        receipts = await asyncio.gather(
            *(both.once(text, network.post, text, found=network.find, resend=NEVER) for text in payload)
        )
        return Done([receipt.remote_id for receipt in receipts])

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("publish", ["one", "two"]))
    assert (job.state, job.result) == (State.COMPLETED, '["id of one", "id of two"]')
    assert sorted(network.posts) == ["one", "two"]
    assert [intent.step for intent in (await app.store.ledger(job.id)).intents] == ["one", "two"]
