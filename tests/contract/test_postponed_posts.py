"""A backup was put back, and a person postponed a post before anybody noticed: it may be live since its former time."""

from __future__ import annotations

from datetime import datetime, timedelta

from postino.stores.operations.database import AcceptedDatabase
from postino.values.database import DatabaseAnswer
from postino.values.job import Job, State
from postino.values.ledger import Suspicion
from tests.contract.harness import ME
from tests.contract.restore_site import Site
from tests.contract.sample_posts import create, make_spec


async def schedule(site: Site, account: str, at: datetime) -> Job:
    [created] = await create(site.harness.store, make_spec(account, run_at=at))
    return created.job


async def accept_restored(site: Site, since_at: datetime | None = None) -> AcceptedDatabase:
    return await site.harness.store.accept_database(DatabaseAnswer.RESTORED, since_at, "other", "new", ME)


async def list_steps(site: Site, job: Job) -> list[str]:
    return [intent.step for intent in (await site.harness.store.ledger(job.id)).intents]


async def test_post_that_was_due_when_it_was_postponed_is_in_doubt(site: Site) -> None:
    clock, store = site.harness.clock, site.harness.store
    await site.start()
    due = await schedule(site, "a1", clock.later(minutes=5))
    early = await schedule(site, "a2", clock.later(hours=2))
    clock.turn(hours=1)
    later = clock.later(days=2)
    for job in (due, early):
        await store.reschedule_job(job.id, later, ME)
    accepted = await accept_restored(site)
    assert [job.id for job in accepted.suspects.due] == [due.id]
    assert [job.id for job in accepted.suspects.early] == [early.id]
    assert (await store.job(due.id)).state is State.UNCERTAIN
    assert (await store.job(early.id)).state is State.PENDING
    assert (await list_steps(site, due), await list_steps(site, early)) == ([Suspicion.RESTORED], [Suspicion.EARLY])


async def test_post_postponed_before_the_lost_part_is_not_due(site: Site) -> None:
    clock, store = site.harness.clock, site.harness.store
    witness = await site.start()
    post = await schedule(site, "a1", clock.later(minutes=5))
    clock.turn(minutes=6)
    await store.reschedule_job(post.id, clock.later(days=2), ME)
    clock.turn(minutes=1)
    await site.look(witness)
    clock.turn(hours=1)
    accepted = await accept_restored(site)
    assert ([*accepted.suspects.due], [job.id for job in accepted.suspects.early]) == ([], [post.id])


async def test_post_postponed_after_a_failover_waits_for_the_absent_process(site: Site) -> None:
    clock, store = site.harness.clock, site.harness.store
    lost = await site.start("lost")
    await lost.close()
    one = await site.start("one", roll_call_seconds=0.0)
    post = await schedule(site, "a1", clock.now)
    clock.turn(seconds=10)
    later = clock.later(days=2)
    await store.reschedule_job(post.id, later, ME)
    await store.call_roll(await store.database_state(), "a standby was promoted")
    for _ in range(3):
        await site.look(one)
    assert (await store.job(post.id)).state is State.UNCERTAIN
    assert await list_steps(site, post) == [Suspicion.ABSENT]
    await site.look(await site.start("lost"))
    released = await store.job(post.id)
    assert (released.state, released.run_at) == (State.PENDING, later), "not before its new time"
    assert released.run_at is not None
    assert released.run_at - clock.now > timedelta(days=1)
