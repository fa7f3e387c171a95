"""A network that says "too many" for ever is believed often, and not for ever: then a person is told."""

from datetime import UTC, datetime

from postino import Defer, Job, Outcome, Postino, State
from postino.rules.settlement import MAX_RATE_LIMITS, DeadLetterCause
from postino.stores.records import DeadLetterFilter
from postino.values.outcome import RateLimited
from tests.engine.conftest import app, database_url, ended, working

__all__ = ["app", "database_url"]


async def test_a_job_that_is_put_off_too_often_fails_among_the_dead_letters_and_has_spent_one_attempt(
    app: Postino,
) -> None:
    runs = 0

    @app.handler("unwanted")
    async def unwanted(job: Job) -> Outcome:
        nonlocal runs
        runs += 1
        return RateLimited(datetime.now(UTC), "The network wants fewer calls.")

    job = await app.enqueue("unwanted", max_attempts=2)
    async with working(app):
        failed = await ended(app, job)
    assert (failed.state, runs, failed.attempts) == (State.FAILED, MAX_RATE_LIMITS + 1, 1)
    [letter] = await app.store.dead_letters(DeadLetterFilter(cause=DeadLetterCause.EXHAUSTED))
    assert (letter.job.id, letter.cause) == (job.id, DeadLetterCause.EXHAUSTED)
    assert f"{MAX_RATE_LIMITS + 1} times" in (failed.last_error or "")


async def test_what_was_put_off_by_something_else_than_a_limit_is_put_off_as_often_as_it_takes(app: Postino) -> None:
    @app.handler("patient")
    async def patient(job: Job) -> Outcome | None:
        return Defer(datetime.now(UTC), "Not yet.") if job.deferrals <= MAX_RATE_LIMITS else None

    job = await app.enqueue("patient", max_attempts=1)
    async with working(app):
        assert (await ended(app, job)).state is State.COMPLETED
