"""A database that was copied, restored or left alone for long: what is due waits for a person, once."""

from collections.abc import Callable

import pytest

from postino.values.event import EventType
from postino.values.job import Job, State
from postino.values.outcome import Defer, Retry
from postino.values.post import POST
from tests.contract.desk import ME, Desk

Elsewhere = Callable[[], None]


@pytest.fixture
def elsewhere(desk: Desk) -> Elsewhere:
    """As if the file or the cluster were another."""

    def move() -> None:
        desk.database.sql("UPDATE {database_identity} SET identity = 'where it was'")

    return move


async def put_three(desk: Desk) -> tuple[Job, Job, Job]:
    """A post that is due, one that is not, and another job."""
    due = await desk.put(type=POST, account="acme")
    later = await desk.put(type=POST, run_at=desk.clock.later(hours=5), account="acme")
    return due, later, await desk.put()


async def test_the_same_place_and_a_fresh_pulse_hold_nothing(desk: Desk) -> None:
    await put_three(desk)
    assert await desk.store.detect_restore() == []
    desk.clock.turn(minutes=9)
    assert await desk.store.detect_restore() == []
    desk.clock.turn(minutes=9)
    await desk.store.record_alive()
    desk.clock.turn(minutes=9)
    assert await desk.store.detect_restore() == []


async def test_after_a_long_silence_posts_that_are_due_wait_for_a_person(desk: Desk) -> None:
    await desk.store.detect_restore()
    due, later, other = await put_three(desk)
    desk.clock.turn(minutes=11)
    assert [job.id for job in await desk.store.detect_restore()] == [due.id]
    held = await desk.store.job(due.id)
    assert (held.state, held.run_at, held.may_be_live) == (State.UNCERTAIN, None, False)
    assert held.deferral_reason is not None
    assert "may have gone out" in held.deferral_reason
    assert await desk.told(due.id) == [EventType.UNCERTAIN]
    assert [await desk.state(job) for job in (later, other)] == [State.PENDING, State.PENDING]
    assert await desk.store.detect_restore() == [], "asked once, not at every start"


async def test_after_an_outage_that_a_worker_lived_through_nothing_is_held(desk: Desk) -> None:
    await desk.store.detect_restore()
    await put_three(desk)
    desk.clock.turn(hours=2)
    assert await desk.store.detect_restore(after_outage=True) == []


async def test_in_another_place_even_what_runs_is_held(desk: Desk, elsewhere: Elsewhere) -> None:
    await desk.store.detect_restore()
    due, _, _ = await put_three(desk)
    running = next(job for job in await desk.take() if job.id == due.id)
    elsewhere()
    assert [job.id for job in await desk.store.detect_restore(after_outage=True)] == [due.id]
    assert not await desk.end(running, Retry("?")), "its worker lost it"


async def test_what_was_refused_before_is_held_too(desk: Desk, elsewhere: Elsewhere) -> None:
    """Where it came from, it may have been accepted since."""
    await desk.store.detect_restore()
    due = await desk.put(type=POST, account="acme")
    running = await desk.take_one()
    await desk.intend(running)
    await desk.refuse(running)
    assert await desk.end(await desk.store.job(due.id), Defer(desk.clock.later(seconds=1), "too many"))
    desk.clock.turn(seconds=2)
    elsewhere()
    assert [job.id for job in await desk.store.detect_restore()] == [due.id]


async def test_what_is_in_doubt_is_left_to_the_ledger(desk: Desk, elsewhere: Elsewhere) -> None:
    await desk.store.detect_restore()
    await desk.put(type=POST, account="acme")
    running = await desk.take_one()
    await desk.intend(running)
    elsewhere()
    assert await desk.store.detect_restore() == []


async def test_a_person_answers_and_it_goes_out(desk: Desk, elsewhere: Elsewhere) -> None:
    await desk.store.detect_restore()
    due, _, _ = await put_three(desk)
    elsewhere()
    await desk.store.detect_restore()
    assert due.id not in {job.id for job in await desk.take()}
    await desk.store.resolve_job(due.id, Retry("it did not"), ME)
    assert due.id in {job.id for job in await desk.take()}
