"""A database that was copied, restored or unused for long: due posts wait for a person."""

from collections.abc import Callable

import pytest

from postino.values.event import EventType
from postino.values.job import Job, State
from postino.values.outcome import Defer, Retry
from postino.values.post import POST
from tests.contract.harness import ME, StoreHarness

Elsewhere = Callable[[], None]


@pytest.fixture
def elsewhere(harness: StoreHarness) -> Elsewhere:
    """Give the database another identity, as after a copy."""

    def move() -> None:
        harness.database.sql("UPDATE {database_identity} SET identity = 'where it was'")

    return move


async def put_three(harness: StoreHarness) -> tuple[Job, Job, Job]:
    """Create a due post, a later post and another job."""
    due = await harness.put(type=POST, account="acme")
    later = await harness.put(type=POST, run_at=harness.clock.later(hours=5), account="acme")
    return due, later, await harness.put()


async def test_same_database_in_recent_use_holds_nothing(harness: StoreHarness) -> None:
    await put_three(harness)
    assert await harness.store.detect_restore() == []
    harness.clock.turn(minutes=9)
    assert await harness.store.detect_restore() == []
    harness.clock.turn(minutes=9)
    await harness.store.record_alive()
    harness.clock.turn(minutes=9)
    assert await harness.store.detect_restore() == []


async def test_due_posts_wait_for_a_person_after_a_long_silence(harness: StoreHarness) -> None:
    await harness.store.detect_restore()
    due, later, other = await put_three(harness)
    harness.clock.turn(minutes=11)
    assert [job.id for job in await harness.store.detect_restore()] == [due.id]
    held = await harness.store.job(due.id)
    assert (held.state, held.run_at, held.may_be_live) == (State.UNCERTAIN, None, False)
    assert held.deferral_reason is not None
    assert "may have been published" in held.deferral_reason
    assert await harness.list_event_types(due.id) == [EventType.UNCERTAIN]
    assert [await harness.state(job) for job in (later, other)] == [State.PENDING, State.PENDING]
    assert await harness.store.detect_restore() == [], "asked once, not at every start"


async def test_known_outage_holds_nothing(harness: StoreHarness) -> None:
    await harness.store.detect_restore()
    await put_three(harness)
    harness.clock.turn(hours=2)
    assert await harness.store.detect_restore(after_outage=True) == []


async def test_copied_database_holds_even_running_posts(harness: StoreHarness, elsewhere: Elsewhere) -> None:
    await harness.store.detect_restore()
    due, _, _ = await put_three(harness)
    running = next(job for job in await harness.take() if job.id == due.id)
    elsewhere()
    assert [job.id for job in await harness.store.detect_restore(after_outage=True)] == [due.id]
    assert not await harness.end(running, Retry("?")), "its worker lost it"


async def test_copied_database_holds_posts_that_were_refused_before(
    harness: StoreHarness, elsewhere: Elsewhere
) -> None:
    """The original database may have published the post since the copy."""
    await harness.store.detect_restore()
    due = await harness.put(type=POST, account="acme")
    running = await harness.take_one()
    await harness.intend(running)
    await harness.refuse(running)
    assert await harness.end(await harness.store.job(due.id), Defer(harness.clock.later(seconds=1), "too many"))
    harness.clock.turn(seconds=2)
    elsewhere()
    assert [job.id for job in await harness.store.detect_restore()] == [due.id]


async def test_posts_in_doubt_are_left_to_the_ledger(harness: StoreHarness, elsewhere: Elsewhere) -> None:
    await harness.store.detect_restore()
    await harness.put(type=POST, account="acme")
    running = await harness.take_one()
    await harness.intend(running)
    elsewhere()
    assert await harness.store.detect_restore() == []


async def test_held_post_is_published_when_a_person_resolves_it(harness: StoreHarness, elsewhere: Elsewhere) -> None:
    await harness.store.detect_restore()
    due, _, _ = await put_three(harness)
    elsewhere()
    await harness.store.detect_restore()
    assert due.id not in {job.id for job in await harness.take()}
    await harness.store.resolve_job(due.id, Retry("it did not"), ME)
    assert due.id in {job.id for job in await harness.take()}
