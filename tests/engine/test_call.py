"""Remembered steps and polling without a slot, run by a real worker."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from postino import Call, Defer, Done, Job, Outcome, Postino, State, Unknown
from postino.rules import settlement
from postino.rules.settlement import DeadLetterCause
from postino.stores.records import AuditContext
from postino.values.ledger import Ledger
from postino.values.provider import NEVER, Failure, FailureKind, Http, LostResponse, NotSent
from tests.engine.conftest import run_worker, wait_for_end
from tests.engine.fake_network import QUICK, FakeNetwork, wait_for_person, wait_until_parked
from tests.outbound.raw_server import RawServer, Visit

only_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
SOON = {"every": timedelta(seconds=0.05), "patience": timedelta(seconds=10)}


class FakeService:
    """Records its calls and gives the arranged responses."""

    def __init__(self, *responses: Any) -> None:
        self.responses = list(responses)
        self.calls: list[tuple[Any, ...]] = []

    async def make(self, http: Http, *arguments: Any) -> Any:
        self.calls.append(arguments)
        response = self.responses.pop(0) if len(self.responses) > 1 else self.responses[0]
        if isinstance(response, Exception):
            raise response
        return response


# Steps


async def test_finished_step_is_not_repeated_by_later_attempts_or_workers(app: Postino) -> None:
    service, got = FakeService({"id": ("c", 1)}), []

    @app.handler("work")
    async def work(job: Job, payload: str, call: Call) -> None:
        got.append(await call.step("container", service.make, payload))
        if job.attempts == 1:
            raise ConnectionError("away")
        if job.deferrals == 0:
            await call.until("pause", FakeService(None).make, every=timedelta(hours=1), patience=timedelta(hours=2))

    job = await app.enqueue("work", "hello")
    async with run_worker(app):
        await wait_until_parked(app, job)
    await app.reschedule(job.id, None)
    async with run_worker(app):
        await wait_for_end(app, job)
    assert service.calls == [("hello",)]
    assert got == [{"id": ["c", 1]}] * 3, "as it is read after a crash, from the beginning"


@only_sqlite
@pytest.mark.parametrize("nothing", [None, False, 0, "", []])
async def test_step_with_an_empty_result_is_finished(app: Postino, nothing: Any) -> None:
    service, got = FakeService(nothing), []

    @app.handler("work")
    async def work(job: Job, payload: str, call: Call) -> None:
        got.append(await call.step("quiet", service.make))
        if job.attempts == 1:
            raise ConnectionError("away")

    async with run_worker(app):
        await wait_for_end(app, await app.enqueue("work", ""))
    assert (len(service.calls), got) == (1, [nothing, nothing])


@only_sqlite
@pytest.mark.parametrize(
    ("value", "state", "cause"),
    [
        (NotSent("no way"), State.FAILED, DeadLetterCause.EXHAUSTED),
        (LostResponse("silence"), State.FAILED, DeadLetterCause.EXHAUSTED),
        (Failure(FailureKind.TRANSIENT, "busy"), State.FAILED, DeadLetterCause.EXHAUSTED),
        (Failure(FailureKind.DOUBT, "odd"), State.FAILED, DeadLetterCause.EXHAUSTED),
        (Failure(FailureKind.PERMANENT, "never"), State.FAILED, DeadLetterCause.PERMANENT),
        (Failure(FailureKind.AUTH, "who are you"), State.FAILED, DeadLetterCause.PERMANENT),
    ],
)
async def test_failed_inert_step_is_never_uncertain(
    app: Postino, value: Any, state: State, cause: DeadLetterCause
) -> None:
    service = FakeService(value)

    @app.handler("work")
    async def work(job: Job, payload: str, call: Call) -> None:
        await call.step("container", service.make)

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("work", ""))
    assert (job.state, job.may_be_live) == (state, False)
    assert (await app.store.dead_letter(job.id)).cause is cause
    assert len(service.calls) == (3 if cause is DeadLetterCause.EXHAUSTED else 1)


@only_sqlite
async def test_rate_limit_in_a_step_defers_the_job_without_an_attempt(app: Postino) -> None:
    service = FakeService(
        Failure(FailureKind.RATE_LIMIT, "slow down", until=datetime.now(UTC) + timedelta(seconds=0.1)), "c1"
    )

    @app.handler("work")
    async def work(job: Job, payload: str, call: Call) -> None:
        await call.step("container", service.make)

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("work", ""))
    assert (job.state, job.attempts, job.deferrals) == (State.COMPLETED, 1, 1)


@only_sqlite
async def test_step_result_that_is_not_json_fails_the_attempt(app: Postino) -> None:
    @app.handler("work")
    async def work(job: Job, payload: str, call: Call) -> None:
        await call.step("container", FakeService(object()).make)

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("work", ""))
    assert "not JSON" in (job.last_error or "")


@only_sqlite
async def test_time_limit_applies_to_each_step(app: Postino) -> None:
    async def slow(http: Http, seconds: float) -> None:
        await asyncio.sleep(seconds)

    @app.handler("work", time_limit=0.6, max_attempts=1)
    async def work(job: Job, payload: float, call: Call) -> None:
        for number in range(3):
            await call.step(f"part {number}", slow, payload)

    async with run_worker(app):
        quick, late = await app.enqueue("work", 0.3), await app.enqueue("work", 1.2)
        assert (await wait_for_end(app, quick)).state is State.COMPLETED
        assert "longer than its time limit" in ((await wait_for_end(app, late)).last_error or "")


@only_sqlite
async def test_time_limit_does_not_end_an_upload_while_data_moves(app: Postino) -> None:
    """The job's deadline in the database moves on, too: another worker must not take over."""
    size, extensions, extend = 1_000_000, [], app.store.extend_deadline

    async def count(job: Job, limit: float) -> None:
        extensions.append(limit)
        await extend(job, limit)

    async def read_slowly(visit: Visit) -> None:
        await visit.reader.readuntil(b"\r\n\r\n")
        left = size
        while left:
            left -= len(await visit.reader.read(16_384))
            await asyncio.sleep(0.03)
        await visit.answer()

    async def upload(http: Http, url: str) -> int:
        return (await http.request("POST", url, body=b"x" * size)).status

    @app.handler("work", time_limit=0.8, max_attempts=1)
    async def work(job: Job, payload: str, call: Call) -> None:
        await call.step("upload", upload, payload)

    app.store.extend_deadline = count
    async with RawServer(read_slowly, receive_buffer=16_384) as server, run_worker(app):
        job = await wait_for_end(app, await app.enqueue("work", server.url))
    assert (job.state, job.attempts) == (State.COMPLETED, 1), job.last_error
    assert extensions
    assert min(extensions) > 0.8


# Names


@only_sqlite
async def test_renamed_step_rejects_the_job(app: Postino) -> None:
    names = ["container", "basket"]

    @app.handler("work")
    async def work(job: Job, payload: str, call: Call) -> None:
        await call.step(names[job.attempts - 1], FakeService(1).make)
        raise ConnectionError("away")

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("work", ""))
    assert (await app.store.dead_letter(job.id)).cause is DeadLetterCause.PERMANENT
    assert job.last_error == (
        "The steps of work have changed since this job ran before: step 1 was 'container' and is now 'basket'."
    )


@only_sqlite
async def test_renamed_step_after_a_visible_call_needs_a_person(app: Postino) -> None:
    names, network = ["post", "send"], FakeNetwork("lost")

    @app.handler("work")
    async def work(job: Job, payload: str, call: Call) -> None:
        name = names[job.attempts - 1]
        await call.with_policy(QUICK).once(name, network.post, payload, found=network.find, resend=NEVER)

    async with run_worker(app):
        await wait_for_person(app, await app.enqueue("work", "hello"))
    assert (network.sends, network.lookups) == (1, [])


@only_sqlite
async def test_other_steps_after_an_accepted_call_need_a_person(app: Postino) -> None:
    names, network = ["post", "send"], FakeNetwork()

    @app.handler("work")
    async def work(job: Job, payload: str, call: Call) -> None:
        name = names[job.attempts - 1]
        await call.with_policy(QUICK).once(name, network.post, payload, found=network.find, resend=NEVER)
        raise ConnectionError("away")

    async with run_worker(app):
        job = await wait_for_person(app, await app.enqueue("work", "hello"))
        assert "step 1 was 'post' and is now 'send'" in (job.last_error or "")
        await app.store.resolve_job(job.id, Done(), AuditContext("person", "it is live"))
        assert (await wait_for_end(app, job)).state is State.COMPLETED
    assert network.sends == 1


@only_sqlite
async def test_two_steps_with_one_name_reject_the_job(app: Postino) -> None:
    service = FakeService("one", "two")

    @app.handler("work")
    async def work(job: Job, payload: str, call: Call) -> None:
        for _ in range(2):
            await call.step("upload", service.make)

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("work", ""))
    assert (job.state, len(service.calls)) == (State.FAILED, 1)
    assert "Two steps of work have the same name, 'upload'" in (job.last_error or "")


@only_sqlite
async def test_replay_after_a_refusal_may_use_other_steps(app: Postino) -> None:
    network, service = FakeNetwork("refused"), FakeService("p1")

    @app.handler("work")
    async def work(job: Job, payload: str, call: Call) -> Outcome:
        if payload == "with a picture":
            await call.step("picture", service.make)
        receipt = await call.once("post", network.post, payload, found=None, resend=NEVER)
        return Done(None, receipt.remote_id)

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("work", "bare"))
        assert job.state is State.FAILED
        await app.replay(job.id, payload="with a picture")
        assert (await wait_for_end(app, job, State.COMPLETED)).remote_id == "id of with a picture"


# Waiting


async def test_polling_holds_no_slot_and_costs_no_attempt(app: Postino) -> None:
    ready = asyncio.Event()

    async def is_ready(http: Http) -> tuple[str] | None:
        return ("now",) if ready.is_set() else None

    @app.handler("wait")
    async def wait(job: Job, payload: str, call: Call) -> Outcome:
        return Done(await call.until("ready", is_ready, **SOON))

    app.handler("other")(lambda: None)
    async with run_worker(app, concurrency=1):
        job = await app.enqueue("wait", "")
        waiting = await wait_until_parked(app, job)
        assert (waiting.attempts, waiting.token, waiting.may_be_live) == (0, None, False)
        assert waiting.deferral_reason == "waiting until ready"
        assert (await wait_for_end(app, await app.enqueue("other"))).state is State.COMPLETED
        ready.set()
        done = await wait_for_end(app, job)
    assert (done.state, done.attempts, done.result) == (State.COMPLETED, 1, '["now"]')
    assert done.deferrals >= 1


async def test_polling_restarts_after_its_timeout_and_finally_fails(app: Postino) -> None:
    service, never = FakeService("c1"), FakeService(None)

    @app.handler("wait")
    async def wait(job: Job, payload: str, call: Call) -> None:
        await call.step("container", service.make)
        await call.until("ready", never.make, every=timedelta(seconds=0.05), patience=timedelta(seconds=0.12))

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("wait", ""))
    assert (job.state, job.attempts) == (State.FAILED, 3)
    assert "ready: not ready after" in (job.last_error or "")
    assert len(service.calls) == 3, "each attempt with a container of its own"
    assert len(never.calls) >= 6
    assert (await app.store.ledger(job.id)) == Ledger()


@only_sqlite
async def test_polling_timeout_counts_while_no_worker_runs(app: Postino) -> None:
    @app.handler("wait", max_attempts=1)
    async def wait(job: Job, payload: str, call: Call) -> None:
        patience = timedelta(seconds=0.5)
        await call.until("ready", FakeService(None).make, every=timedelta(seconds=0.4), patience=patience)

    job = await app.enqueue("wait", "")
    async with run_worker(app):
        asked_at = (await wait_until_parked(app, job)).created_at
    await asyncio.sleep(max(0.0, 0.6 - (datetime.now(UTC) - asked_at).total_seconds()))
    async with run_worker(app):
        assert (await wait_for_end(app, job)).state is State.FAILED


@only_sqlite
async def test_edited_parked_job_starts_again(app: Postino) -> None:
    service, responses = FakeService("c1"), FakeService(None)

    @app.handler("wait")
    async def wait(job: Job, payload: str, call: Call) -> None:
        await call.step("container", service.make, payload)
        await call.until("ready", responses.make, every=timedelta(hours=1), patience=timedelta(hours=2))

    async with run_worker(app):
        job = await app.enqueue("wait", "old")
        await wait_until_parked(app, job)
        responses.responses = ["yes"]
        await app.edit(job.id, "new")
        await app.reschedule(job.id, None)
        assert (await wait_for_end(app, job)).state is State.COMPLETED
    assert service.calls == [("old",), ("new",)]


# A job that is another's by now


@pytest.mark.parametrize("verb", ["step", "until", "once"])
async def test_worker_that_lost_its_job_stores_and_sends_nothing(app: Postino, verb: str) -> None:
    network, service = FakeNetwork(), FakeService("c1")
    lost = asyncio.Event()

    async def lose(job: Job) -> None:
        """Another worker takes this one for dead, unless a heartbeat comes in between: then it tries again."""
        rescued: Sequence[object] = ()
        while not rescued:
            heartbeats = (await app.store.poll(None, heartbeat=True)).heartbeats
            rescued = await app.store.rescue(
                heartbeats, lambda job, now, _: settlement.make_failure("taken", DeadLetterCause.WORKER_KILLER)
            )
        lost.set()

    @app.handler("work")
    async def work(job: Job, payload: str, call: Call) -> None:
        await lose(job)
        match verb:
            case "step":
                await call.step("container", service.make)
            case "until":
                await call.until("ready", service.make, **SOON)
            case "once":
                await call.once("post", network.post, payload, found=None, resend=NEVER)

    async with run_worker(app):
        job = await app.enqueue("work", "hello")
        await lost.wait()
        assert (await wait_for_end(app, job)).last_error == "taken"
    assert network.sends == 0
    assert await app.store.ledger(job.id) == Ledger()


# What a handler says by itself


@only_sqlite
@pytest.mark.parametrize(
    "value",
    [("?", datetime(2026, 1, 1)), (7, None), ("?", "soon"), (None, 3)],  # noqa: DTZ001 - this is the mistake
)
async def test_malformed_unknown_outcome_is_not_retried(app: Postino, value: tuple[Any, Any]) -> None:
    runs: list[Job] = []

    @app.handler("work")
    async def work(job: Job) -> Outcome:
        runs.append(job)
        return Unknown(*value)

    async with run_worker(app):
        await wait_for_person(app, await app.enqueue("work"))
    assert len(runs) == 1


@only_sqlite
async def test_deferral_by_a_handler_is_not_a_step(app: Postino) -> None:
    @app.handler("work")
    async def work(job: Job, payload: str, call: Call) -> Outcome | None:
        await call.step("container", FakeService(1).make)
        return None if job.deferrals else Defer(datetime.now(UTC), "not yet")

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("work", ""))
    assert [step.name for step in (await app.store.ledger(job.id)).steps] == ["container"]
