"""Outcomes and exceptions of handlers and what becomes of their jobs; the worker survives all of them."""

import asyncio
import contextlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, model_validator

from postino import Defer, Done, Job, Outcome, Postino, Reject, Retry, Schedule, State, Unknown
from postino.engine import executor
from postino.rules.settlement import DeadLetterCause
from postino.stores.records import SettledJob
from tests.engine.conftest import run_worker, wait_for, wait_for_end


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
    """A payload model whose validator raises."""

    @model_validator(mode="before")
    @classmethod
    def check(cls, value: Any) -> Any:
        return value["missing"]


async def test_exception_is_a_retry_with_its_stack_trace(app: Postino) -> None:
    @app.handler("flaky")
    async def flaky(job: Job) -> None:
        if job.attempts < 3:
            raise ConnectionError(f"attempt {job.attempts}")

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("flaky"))
    attempts = await app.store.attempts(job.id)
    assert (job.state, job.attempts) == (State.COMPLETED, 3)
    assert [(a.number, a.outcome, a.error_class, a.message) for a in attempts] == [
        (1, "retrying", "ConnectionError", "ConnectionError: attempt 1"),
        (2, "retrying", "ConnectionError", "ConnectionError: attempt 2"),
        (3, "completed", None, None),
    ]
    assert "in flaky" in (attempts[0].trace or "")
    assert all(attempt.started_at <= attempt.ended_at for attempt in attempts)


async def test_exhausted_job_is_a_dead_letter_with_its_history(app: Postino) -> None:
    @app.handler("broken")
    async def broken() -> None:
        raise RuntimeError("no\x00luck")

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("broken", user_id="u1", correlation_id="c1"))
    letter = await app.store.dead_letter(job.id)
    assert (letter.cause, letter.error) == (DeadLetterCause.EXHAUSTED, "RuntimeError: no\\x00luck")
    assert (letter.job.user_id, letter.job.correlation_id, letter.job.attempts) == ("u1", "c1", 3)
    assert [attempt.number for attempt in letter.history] == [1, 2, 3]
    assert "RuntimeError" in (letter.trace or "")


async def test_unreadable_payload_is_kept_and_not_retried(app: Postino) -> None:
    @app.handler("snap")
    async def snap(job: Job, payload: Snap) -> None: ...

    for poison in (b"\xff\x00not json", b'{"id": "seven"}', b""):
        async with run_worker(app):
            job = await wait_for_end(app, await app.enqueue("snap", poison))
        letter = await app.store.dead_letter(job.id)
        assert (letter.cause, letter.job.payload, job.attempts) == (DeadLetterCause.POISON, poison, 1)


async def test_each_outcome_leads_to_its_state(app: Postino) -> None:
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

    async with run_worker(app):
        jobs = {name: await app.enqueue("any", name) for name in outcomes}
        rejected = await wait_for_end(app, jobs["rejected"])
        unknown = await wait_for_end(app, jobs["unknown"], State.UNCERTAIN)

        async def put_off() -> bool:
            waiting = [await app.store.job(jobs[name].id) for name in ("deferred", "retried")]
            return all(job.run_at is not None and job.run_at >= soon for job in waiting)

        await wait_for(put_off)
    deferred, retried = await app.store.job(jobs["deferred"].id), await app.store.job(jobs["retried"].id)
    assert (rejected.state, rejected.last_error) == (State.FAILED, "never")
    assert (unknown.run_at, unknown.last_error) == (None, "no answer")
    assert (deferred.state, deferred.attempts, deferred.deferrals) == (State.PENDING, 0, 1)
    assert deferred.deferral_reason == "not yet"
    assert (retried.state, retried.attempts, retried.deferrals) == (State.PENDING, 1, 0)
    assert deferred.run_at is not None
    assert retried.run_at is not None
    assert min(deferred.run_at, retried.run_at) >= soon


async def test_wrong_return_value_names_the_expected_one(app: Postino) -> None:
    @app.handler("confused", max_attempts=1)
    async def confused() -> str:
        return "done"

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("confused"))
    assert "must return an outcome" in (job.last_error or "")
    assert "not 'done'" in (job.last_error or "")


NEVER = datetime.max.replace(tzinfo=UTC)
NAIVE = datetime(2030, 1, 1, tzinfo=UTC).replace(tzinfo=None)


@pytest.mark.parametrize(
    "outcome",
    [Defer(NAIVE, "when?"), Defer(NEVER, "never"), Retry("later", NAIVE), Retry(None), Reject(7), Defer("noon", "x")],  # type: ignore[arg-type]
)
async def test_malformed_outcome_fails_the_attempt_only(app: Postino, outcome: Outcome) -> None:
    @app.handler("confused", max_attempts=1)
    async def confused() -> Outcome:
        return outcome

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("confused"))
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
async def test_done_with_an_unserializable_result_is_not_repeated(app: Postino, outcome: Outcome) -> None:
    ran = []

    @app.handler("odd")
    async def odd() -> Outcome:
        ran.append(1)
        return outcome

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("odd"))
    assert (job.state, len(ran)) == (State.COMPLETED, 1)


@pytest.mark.parametrize(
    "error",
    [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError(), Unprintable()],
    ids=repr_type,
)
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("limit", [None, 60])
async def test_any_exception_of_a_handler_fails_only_its_attempt(
    app: Postino, error: BaseException, plain: bool, limit: float | None
) -> None:
    async def waits() -> None:
        raise error

    def blocks() -> None:
        raise error

    app.handler("bad", max_attempts=2, backoff=Schedule([0]), time_limit=limit)(blocks if plain else waits)
    app.handler("good")(lambda: None)
    async with run_worker(app, concurrency=1):
        bad = await wait_for_end(app, await app.enqueue("bad", account="a"))
        good = await wait_for_end(app, await app.enqueue("good", account="a"))
    assert (bad.state, bad.attempts, good.state) == (State.FAILED, 2, State.COMPLETED)
    assert (bad.last_error or "").startswith(type(error).__name__)


async def test_cancelled_inner_task_fails_the_attempt(app: Postino) -> None:
    @app.handler("bad", max_attempts=1)
    async def bad() -> None:
        inner = asyncio.create_task(asyncio.sleep(60))
        inner.cancel()
        await inner

    async with run_worker(app, concurrency=1):
        assert (await wait_for_end(app, await app.enqueue("bad"))).state is State.FAILED


async def test_exception_in_payload_parsing_is_an_unreadable_payload(app: Postino) -> None:
    @app.handler("strict")
    async def strict(job: Job, payload: Strict) -> None: ...

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("strict", {}))
    assert (await app.store.dead_letter(job.id)).cause is DeadLetterCause.POISON


async def test_hanging_functions_keep_only_their_own_slots(app: Postino) -> None:
    hang, called = threading.Event(), []

    @app.handler("hang", max_attempts=1, time_limit=0.05)
    def hanging() -> None:
        hang.wait(20)

    @app.handler("quick", time_limit=5)
    def quick() -> None:
        called.append(1)

    async with run_worker(app, concurrency=3):
        for job in [await app.enqueue("hang") for _ in range(2)]:
            assert (await wait_for_end(app, job)).state is State.FAILED
        for job in [await app.enqueue("quick") for _ in range(5)]:
            assert (await wait_for_end(app, job)).attempts == 1
        hang.set()
    assert len(called) == 5


async def test_ending_that_the_store_refuses_becomes_uncertain(app: Postino, monkeypatch: pytest.MonkeyPatch) -> None:
    app.handler("work")(lambda: None)
    write = app.store.settle

    async def picky(endings: Sequence[SettledJob], *, again: bool = False) -> set[UUID]:
        if any(ending.settlement.state is State.COMPLETED for ending in endings):
            raise ValueError("not this")
        return await write(endings)

    monkeypatch.setattr(app.store, "settle", picky)
    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("work"), State.UNCERTAIN)
    assert "could not be stored: ValueError: not this" in (job.last_error or "")


async def test_time_limit_ends_an_attempt(app: Postino) -> None:
    @app.handler("endless", max_attempts=1, time_limit=0.05)
    async def endless() -> None:
        await asyncio.sleep(60)

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("endless"))
    assert (job.state, job.last_error) == (State.FAILED, "The job took longer than its time limit of 0.05 s.")


async def test_timeout_inside_a_handler_is_not_the_time_limit(app: Postino) -> None:
    @app.handler("impatient", max_attempts=1, time_limit=60)
    async def impatient() -> None:
        raise TimeoutError("the other side")

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("impatient"))
    assert job.last_error == "TimeoutError: the other side"


async def test_handler_that_ignores_cancellation_keeps_its_slot(app: Postino, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "GRACE", 0.05)
    returned, let_go = asyncio.Event(), asyncio.Event()

    @app.handler("stubborn", max_attempts=1, time_limit=0.05)
    async def stubborn() -> None:
        while not let_go.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await let_go.wait()
        returned.set()

    app.handler("plain")(lambda: None)
    async with run_worker(app, concurrency=2):
        job = await wait_for_end(app, await app.enqueue("stubborn"))
        assert (job.state, job.last_error) == (State.FAILED, "The job took longer than its time limit of 0.05 s.")
        assert (await wait_for_end(app, await app.enqueue("plain"))).state is State.COMPLETED
        let_go.set()
        await returned.wait()


async def test_handler_may_return_an_outcome_when_cancelled(app: Postino) -> None:
    @app.handler("tidy", time_limit=0.05)
    async def tidy() -> Done:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return Done("half of it")
        raise AssertionError

    async with run_worker(app):
        job = await wait_for_end(app, await app.enqueue("tidy"))
    assert (job.state, job.result) == (State.COMPLETED, '"half of it"')
