"""A job that a network rate-limits again and again fails after a number of deferrals."""

from datetime import UTC, datetime

from postino import Defer, Job, Outcome, Postino, State
from postino.rules.settlement import MAX_RATE_LIMITS, DeadLetterCause
from postino.stores.records import DeadLetterFilter
from postino.values.outcome import RateLimited
from tests.engine.conftest import app, database_url, run_worker, wait_for_end

__all__ = ["app", "database_url"]


async def test_job_rate_limited_too_often_fails_with_one_attempt(
    app: Postino,
) -> None:
    runs = 0

    @app.handler("limited")
    async def limited(job: Job) -> Outcome:
        nonlocal runs
        runs += 1
        return RateLimited(datetime.now(UTC), "The network wants fewer calls.")

    job = await app.enqueue("limited", max_attempts=2)
    async with run_worker(app):
        failed = await wait_for_end(app, job)
    assert (failed.state, runs, failed.attempts) == (State.FAILED, MAX_RATE_LIMITS + 1, 1)
    [letter] = await app.store.dead_letters(DeadLetterFilter(cause=DeadLetterCause.EXHAUSTED))
    assert (letter.job.id, letter.cause) == (job.id, DeadLetterCause.EXHAUSTED)
    assert f"{MAX_RATE_LIMITS + 1} times" in (failed.last_error or "")


async def test_deferrals_without_a_rate_limit_are_unlimited(app: Postino) -> None:
    @app.handler("patient")
    async def patient(job: Job) -> Outcome | None:
        return Defer(datetime.now(UTC), "Not yet.") if job.deferrals <= MAX_RATE_LIMITS else None

    job = await app.enqueue("patient", max_attempts=1)
    async with run_worker(app):
        assert (await wait_for_end(app, job)).state is State.COMPLETED
