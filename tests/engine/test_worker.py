"""What a worker does with a job, from its claim to what is written in the end."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, model_validator

from postino import Call, Defer, Done, Event, Job, Outcome, Postino, Reject, Retry, Schedule, State, Unknown, WrongUse
from postino.engine import worker
from postino.errors import StoreUnreachable
from postino.rules.settlement import Cause
from postino.store import ClaimOrder, Ending, JobFilter
from tests.engine.conftest import ended, working


def repr_type(error: BaseException) -> str:
    return type(error).__name__


@dataclass
class Snap:
    id: int
    taken_at: datetime | None = None


class Unprintable(BaseException):
    def __repr__(self) -> str:
        raise ValueError("no words")

    __str__ = __repr__


class Strict(BaseModel):
    """Its validator has a bug of its own."""

    @model_validator(mode="before")
    @classmethod
    def check(cls, value: Any) -> Any:
        return value["missing"]


class Caption(BaseModel):
    text: str


async def test_a_job_runs_and_keeps_its_result(app: Postino) -> None:
    @app.handler("greet")
    async def greet(job: Job, payload: dict[str, str]) -> Outcome:
        return Done({"said": f"hello {payload['name']}"}, remote_id="r-1")

    async with working(app):
        job = await ended(app, await app.enqueue("greet", {"name": "ada"}))
    assert (job.state, job.result, job.remote_id, job.attempts) == (State.COMPLETED, '{"said": "hello ada"}', "r-1", 1)


async def test_nothing_returned_means_done(app: Postino) -> None:
    @app.handler("quiet")
    async def quiet() -> None: ...

    async with working(app):
        assert (await ended(app, await app.enqueue("quiet"))).state is State.COMPLETED


async def test_payloads_arrive_as_the_annotated_type(app: Postino) -> None:
    seen: list[Any] = []

    @app.handler("snap")
    async def snap(job: Job, payload: Snap) -> None:
        seen.append(payload)

    @app.handler("caption")
    async def caption(job: Job, payload: Caption) -> None:
        seen.append(payload)

    @app.handler("raw")
    async def raw(job: Job, payload: bytes) -> None:
        seen.append(payload)

    taken = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    async with working(app):
        for name, payload in (("snap", Snap(7, taken)), ("caption", Caption(text="hi")), ("raw", b"\xff\x00")):
            await ended(app, await app.enqueue(name, payload))
    assert seen == [Snap(7, taken), Caption(text="hi"), b"\xff\x00"]


async def test_a_plain_function_runs_in_a_thread_and_blocks_nobody(app: Postino) -> None:
    release, threads = threading.Event(), set()

    @app.handler("slow")
    def slow() -> None:
        threads.add(threading.current_thread())
        assert release.wait(10)

    @app.handler("quick")
    async def quick() -> None:
        release.set()

    async with working(app):
        first = await app.enqueue("slow")
        await ended(app, await app.enqueue("quick"))
        assert (await ended(app, first)).state is State.COMPLETED
    assert threading.main_thread() not in threads


async def test_an_exception_is_a_retry_with_its_stack_trace(app: Postino) -> None:
    @app.handler("flaky")
    async def flaky(job: Job) -> None:
        if job.attempts < 3:
            raise ConnectionError(f"attempt {job.attempts}")

    async with working(app):
        job = await ended(app, await app.enqueue("flaky"))
    attempts = await app.store.attempts(job.id)
    assert (job.state, job.attempts) == (State.COMPLETED, 3)
    assert [(a.number, a.outcome, a.error_class, a.message) for a in attempts] == [
        (1, "retrying", "ConnectionError", "ConnectionError: attempt 1"),
        (2, "retrying", "ConnectionError", "ConnectionError: attempt 2"),
        (3, "completed", None, None),
    ]
    assert "in flaky" in (attempts[0].trace or "")
    assert all(attempt.started_at <= attempt.ended_at for attempt in attempts)


async def test_a_job_that_never_works_ends_among_the_dead_letters_with_its_whole_history(app: Postino) -> None:
    @app.handler("broken")
    async def broken() -> None:
        raise RuntimeError("no\x00luck")

    async with working(app):
        job = await ended(app, await app.enqueue("broken", user_id="u1", correlation_id="c1"))
    letter = await app.store.dead_letter(job.id)
    assert (letter.cause, letter.error) == (Cause.EXHAUSTED, "RuntimeError: no\\x00luck")
    assert (letter.job.user_id, letter.job.correlation_id, letter.job.attempts) == ("u1", "c1", 3)
    assert [attempt.number for attempt in letter.history] == [1, 2, 3]
    assert "RuntimeError" in (letter.trace or "")


async def test_a_payload_that_cannot_be_read_is_kept_byte_for_byte_and_not_tried_again(app: Postino) -> None:
    @app.handler("snap")
    async def snap(job: Job, payload: Snap) -> None: ...

    for poison in (b"\xff\x00not json", b'{"id": "seven"}', b""):
        async with working(app):
            job = await ended(app, await app.enqueue("snap", poison))
        letter = await app.store.dead_letter(job.id)
        assert (letter.cause, letter.job.payload, job.attempts) == (Cause.POISON, poison, 1)


async def test_a_type_nobody_handles_is_retried_and_then_told(app: Postino) -> None:
    async with working(app):
        job = await ended(app, await app.enqueue("nobody.knows"))
    assert job.state is State.FAILED
    assert "no handler for jobs of type nobody.knows" in (job.last_error or "")


async def test_each_outcome_leads_where_it_should(app: Postino) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    outcomes: dict[str, Outcome] = {
        "rejected": Reject("never"),
        "unknown": Unknown("no answer"),
        "deferred": Defer(soon, "not yet"),
        "retried": Retry("later", not_before=soon),
    }

    @app.handler("any")
    async def any_of_them(job: Job, payload: str) -> Outcome:
        return outcomes[payload]

    async with working(app):
        jobs = {name: await app.enqueue("any", name) for name in outcomes}
        rejected = await ended(app, jobs["rejected"])
        unknown = await ended(app, jobs["unknown"], State.UNCERTAIN)
    deferred, retried = await app.store.get(jobs["deferred"].id), await app.store.get(jobs["retried"].id)
    assert (rejected.state, rejected.last_error) == (State.FAILED, "never")
    assert (unknown.run_at, unknown.last_error) == (None, "no answer")
    assert (deferred.state, deferred.attempts, deferred.deferrals) == (State.PENDING, 0, 1)
    assert deferred.deferred == "not yet"
    assert (retried.state, retried.attempts, retried.deferrals) == (State.PENDING, 1, 0)
    assert deferred.run_at is not None
    assert retried.run_at is not None
    assert min(deferred.run_at, retried.run_at) >= soon


async def test_a_handler_that_returns_something_else_is_told_so(app: Postino) -> None:
    @app.handler("confused", max_attempts=1)
    async def confused() -> str:
        return "done"

    async with working(app):
        job = await ended(app, await app.enqueue("confused"))
    assert "must return an outcome" in (job.last_error or "")
    assert "not 'done'" in (job.last_error or "")


NEVER = datetime.max.replace(tzinfo=UTC)
NAIVE = datetime(2030, 1, 1, tzinfo=UTC).replace(tzinfo=None)


@pytest.mark.parametrize(
    "outcome",
    [Defer(NAIVE, "when?"), Defer(NEVER, "never"), Retry("later", NAIVE), Retry(None), Reject(7), Defer("noon", "x")],  # type: ignore[arg-type]
)
async def test_an_outcome_that_cannot_be_acted_upon_fails_the_attempt_and_not_the_worker(
    app: Postino, outcome: Outcome
) -> None:
    @app.handler("confused", max_attempts=1)
    async def confused() -> Outcome:
        return outcome

    async with working(app):
        job = await ended(app, await app.enqueue("confused"))
    assert "must return an outcome" in (job.last_error or "")


@pytest.mark.parametrize(
    "outcome",
    [
        Done({(1, 2): 3}),
        Done(float("nan")),
        Done(remote_id="a\x00b\ud800"),
        Done(remote_id=7),  # type: ignore[arg-type]
        Done(Unprintable()),
        Done(remote_id=Unprintable()),  # type: ignore[arg-type]
    ],
)
async def test_work_that_is_done_is_never_done_again_because_of_an_odd_result(app: Postino, outcome: Outcome) -> None:
    ran = []

    @app.handler("odd")
    async def odd() -> Outcome:
        ran.append(1)
        return outcome

    async with working(app):
        job = await ended(app, await app.enqueue("odd"))
    assert (job.state, len(ran)) == (State.COMPLETED, 1)


@pytest.mark.parametrize(
    "error",
    [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError(), Unprintable()],
    ids=repr_type,
)
@pytest.mark.parametrize("plain", [False, True])
async def test_whatever_a_handler_raises_is_its_failure_and_not_the_workers(
    app: Postino, error: BaseException, plain: bool
) -> None:
    async def waits() -> None:
        raise error

    def blocks() -> None:
        raise error

    app.handler("bad", max_attempts=2, backoff=Schedule([0]))(blocks if plain else waits)
    app.handler("good")(lambda: None)
    async with working(app, concurrency=1):
        bad = await ended(app, await app.enqueue("bad", account="a"))
        good = await ended(app, await app.enqueue("good", account="a"))
    assert (bad.state, bad.attempts, good.state) == (State.FAILED, 2, State.COMPLETED)
    assert (bad.last_error or "").startswith(type(error).__name__)


async def test_a_handler_whose_inner_task_was_cancelled_has_failed(app: Postino) -> None:
    @app.handler("bad", max_attempts=1)
    async def bad() -> None:
        inner = asyncio.create_task(asyncio.sleep(60))
        inner.cancel()
        await inner

    async with working(app, concurrency=1):
        assert (await ended(app, await app.enqueue("bad"))).state is State.FAILED


async def test_a_bug_in_reading_a_payload_is_poison_too(app: Postino) -> None:
    @app.handler("strict")
    async def strict(job: Job, payload: Strict) -> None: ...

    async with working(app):
        job = await ended(app, await app.enqueue("strict", {}))
    assert (await app.store.dead_letter(job.id)).cause is Cause.POISON


async def test_a_plain_handler_may_enqueue_through_the_sync_door(app: Postino) -> None:
    @app.handler("parent")
    def parent(job: Job) -> None:
        app.sync.enqueue_many([("child", number) for number in range(3)])
        app.sync.enqueue("child", 3, key="k")

    app.handler("child")(lambda: None)
    async with working(app):
        for job in [await app.enqueue("parent") for _ in range(10)]:
            assert (await ended(app, job)).state is State.COMPLETED
        with pytest.raises(WrongUse, match="use `await`"):
            app.sync.enqueue("child")
    assert len(await app.store.list(JobFilter(type="child", limit=100))) == 31


async def test_functions_that_hang_keep_their_slots_and_nobody_elses(app: Postino) -> None:
    hang, called = threading.Event(), []

    @app.handler("hang", max_attempts=1, time_limit=0.05)
    def hanging() -> None:
        hang.wait(20)

    @app.handler("quick", time_limit=5)
    def quick() -> None:
        called.append(1)

    async with working(app, concurrency=3):
        for job in [await app.enqueue("hang") for _ in range(2)]:
            assert (await ended(app, job)).state is State.FAILED
        for job in [await app.enqueue("quick") for _ in range(5)]:
            assert (await ended(app, job)).attempts == 1
        hang.set()
    assert len(called) == 5


async def test_a_worker_outlives_its_own_bugs(app: Postino, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "TROUBLE_AGAIN", 0.01)
    app.handler("work")(lambda: None)
    claim, failures = app.store.claim, iter([ValueError("a bug"), KeyError("another")])

    async def failing(order: ClaimOrder) -> list[Job]:
        for error in failures:
            raise error
        return await claim(order)

    monkeypatch.setattr(app.store, "claim", failing)
    async with working(app):
        assert (await ended(app, await app.enqueue("work"))).state is State.COMPLETED


async def test_what_has_ended_is_written_before_a_worker_leaves(app: Postino, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "STORE_AGAIN", 0.05)
    done = asyncio.Event()

    @app.handler("work")
    async def work() -> None:
        done.set()

    write, away = app.store.settle, 4

    async def unreachable(endings: Sequence[Ending]) -> set[UUID]:
        nonlocal away
        away -= 1
        if away > 0:
            raise StoreUnreachable("gone for a moment")
        return await write(endings)

    monkeypatch.setattr(app.store, "settle", unreachable)
    async with working(app):
        job = await app.enqueue("work")
        await done.wait()
    assert (await app.store.get(job.id)).state is State.COMPLETED


async def test_an_ending_the_store_refuses_becomes_a_question_for_a_person(
    app: Postino, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.handler("work")(lambda: None)
    write = app.store.settle

    async def picky(endings: Sequence[Ending]) -> set[UUID]:
        if any(ending.settlement.state is State.COMPLETED for ending in endings):
            raise ValueError("not this")
        return await write(endings)

    monkeypatch.setattr(app.store, "settle", picky)
    async with working(app):
        job = await ended(app, await app.enqueue("work"), State.UNCERTAIN)
    assert "could not be written down: ValueError: not this" in (job.last_error or "")


async def test_a_time_limit_ends_an_attempt(app: Postino) -> None:
    @app.handler("endless", max_attempts=1, time_limit=0.05)
    async def endless() -> None:
        await asyncio.sleep(60)

    async with working(app):
        job = await ended(app, await app.enqueue("endless"))
    assert (job.state, job.last_error) == (State.FAILED, "It took longer than its time limit of 0.05 s.")


async def test_a_time_out_inside_a_handler_is_not_taken_for_the_time_limit(app: Postino) -> None:
    @app.handler("impatient", max_attempts=1, time_limit=60)
    async def impatient() -> None:
        raise TimeoutError("the other side")

    async with working(app):
        job = await ended(app, await app.enqueue("impatient"))
    assert job.last_error == "TimeoutError: the other side"


@pytest.mark.parametrize(("own", "attempts"), [(None, 2), (1, 1)])
async def test_a_job_says_more_than_its_type(app: Postino, own: int | None, attempts: int) -> None:
    @app.handler("broken", max_attempts=2, backoff=Schedule([0]))
    async def broken() -> None:
        raise RuntimeError

    async with working(app):
        job = await ended(app, await app.enqueue("broken", max_attempts=own))
    assert job.attempts == attempts


async def test_a_scheduled_job_starts_at_its_time_and_never_before(app: Postino) -> None:
    started: list[datetime | None] = []

    @app.handler("punctual")
    async def punctual(job: Job) -> None:
        started.append(job.claimed_at)

    at = datetime.now(UTC) + timedelta(seconds=0.5)
    async with working(app):
        job = await ended(app, await app.enqueue("punctual", at=at))
    assert job.scheduled_at == at
    assert started[0] is not None
    assert started[0] >= at


async def test_a_child_knows_its_parent_and_its_failure_changes_nothing_there(app: Postino) -> None:
    children: list[Job] = []

    @app.handler("parent")
    async def parent(job: Job, payload: None, call: Call) -> None:
        children.append(await call.enqueue("child", {"of": str(job.id)}))

    @app.handler("child")
    async def child() -> Outcome:
        return Reject("no")

    async with working(app):
        job = await ended(app, await app.enqueue("parent"))
        born = await ended(app, children[0])
    assert (born.state, born.parent_id, born.correlation_id) == (State.FAILED, job.id, str(job.id))
    assert (await app.store.get(job.id)).state is State.COMPLETED
    assert [found.id for found in await app.store.list(JobFilter(parent_id=job.id))] == [born.id]


async def test_a_worker_that_stops_lets_running_jobs_end(app: Postino) -> None:
    running, finish = asyncio.Event(), asyncio.Event()

    @app.handler("long")
    async def long() -> None:
        running.set()
        await finish.wait()

    async with working(app):
        job = await app.enqueue("long")
        await running.wait()
        asyncio.get_running_loop().call_later(0.3, finish.set)
    assert (await app.store.get(job.id)).state is State.COMPLETED
    assert await app.store.workers() == []


async def test_what_does_not_end_while_draining_is_given_back(app: Postino) -> None:
    running = asyncio.Event()

    @app.handler("stubborn")
    async def stubborn() -> None:
        running.set()
        await asyncio.sleep(60)

    async with working(app, drain=0.1):
        job = await app.enqueue("stubborn")
        await running.wait()
    left = await app.store.get(job.id)
    assert (left.state, left.attempts, left.rescues) == (State.PENDING, 0, 0)


async def test_a_job_that_others_took_over_is_stopped_here(app: Postino) -> None:
    running, stopped = asyncio.Event(), asyncio.Event()

    @app.handler("long")
    async def long(job: Job) -> None:
        if job.rescues:
            return
        running.set()
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    async with working(app):
        job = await app.enqueue("long", account="a")
        await running.wait()
        (alive,) = await app.store.workers()
        await app.store.retire(alive.id)  # as if others had buried it
        async with asyncio.timeout(10):
            await stopped.wait()
        done = await ended(app, job)
    assert (done.state, done.rescues) == (State.COMPLETED, 1)


async def test_a_claim_whose_answer_was_lost_is_given_back_and_runs(
    app: Postino, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.handler("work")(lambda: None)
    claim = app.store.claim
    lost: list[Job] = []

    async def losing(order: ClaimOrder) -> list[Job]:
        claimed = await claim(order)
        if claimed and not lost:
            lost.extend(claimed)
            raise StoreUnreachable("the answer to COMMIT was lost")
        return claimed

    monkeypatch.setattr(app.store, "claim", losing)
    async with working(app):
        job = await ended(app, await app.enqueue("work", account="a"))
    assert [claimed.id for claimed in lost] == [job.id]
    assert (job.state, job.attempts, job.rescues) == (State.COMPLETED, 1, 0)


async def test_a_lane_runs_one_job_at_a_time_in_order(app: Postino) -> None:
    at_once, most, order = 0, 0, []

    @app.handler("post")
    async def post(job: Job, payload: int) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.005)
        order.append(payload)
        at_once -= 1

    async with working(app):
        jobs = [await app.enqueue("post", number, account="a1") for number in range(10)]
        for job in jobs:
            await ended(app, job)
    assert (most, order) == (1, list(range(10)))


def test_a_handler_with_too_many_arguments_is_refused_when_it_is_registered() -> None:
    app = Postino("sqlite:////nowhere/postino.db")
    with pytest.raises(WrongUse, match="takes \\(job, payload, call\\) or fewer"):

        @app.handler("greedy")
        async def greedy(job: Job, payload: Any, call: Call, more: Any) -> None: ...


def test_a_second_handler_for_the_same_type_is_refused() -> None:
    app = Postino("sqlite:////nowhere/postino.db")
    app.handler("once")(lambda: None)
    with pytest.raises(WrongUse, match="'once' has a handler already"):
        app.handler("once")(lambda: None)


def test_a_listener_for_an_event_that_does_not_exist_is_refused() -> None:
    app = Postino("sqlite:////nowhere/postino.db")
    with pytest.raises(WrongUse, match=r"no event 'job\.faild'\. Did you mean job\.failed\?"):
        app.on("job.faild")


def test_a_second_listener_of_the_same_name_is_refused() -> None:
    app = Postino("sqlite:////nowhere/postino.db")

    async def hear(event: Event) -> None: ...

    app.on(name="alarm")(hear)
    with pytest.raises(WrongUse, match="there is a listener 'alarm' already"):
        app.on(name="alarm")(hear)
