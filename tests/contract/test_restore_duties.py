"""Duties leave a database alone that may be a restored backup."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta

from postino.config import Config
from postino.engine.duties import Duties, Duty, make_duties
from postino.engine.witness import Witness
from postino.values.job import Job, State
from tests.contract.restore_site import Site
from tests.contract.sample_posts import create, make_spec


async def put_post_with_deadline(site: Site) -> Job:
    until = site.harness.clock.later(minutes=5)
    [made] = await create(site.harness.store, make_spec("anna", until=until))
    return made.job


async def test_missed_posts_do_not_fail_in_a_backup_that_was_put_back(site: Site) -> None:
    """They were published on time, in the part of the history that is lost. A dead letter would hide them."""
    witness = await site.start()
    job = await put_post_with_deadline(site)
    await site.pulse(witness)
    site.back_up()
    await site.pulse(witness, times=20)
    site.put_back()
    assert await site.harness.store.fail_missed_posts(3600, witness.memory) == []
    assert await site.harness.state(job) is State.PENDING
    assert [it.id for it in await site.harness.store.fail_missed_posts(3600)] == [job.id], "its time is over"


async def test_missed_posts_fail_only_while_the_worker_vouches_for_the_database(site: Site) -> None:
    await site.start("one")
    site.harness.clock.turn(hours=1)
    stranger = await site.start("two")
    [missed] = [
        it for it in make_duties(site.harness.store, Config(data_dir=site.folder), stranger) if "miss" in it.name
    ]
    assert not missed.may_run()
    await site.start("one")
    await site.look(stranger)
    assert missed.may_run()


async def test_duties_wait_for_the_first_check_of_the_database(site: Site) -> None:
    ran = asyncio.Event()

    async def run() -> None:
        ran.set()

    witness = Witness(site.harness.store, site.folder / "one")
    duties = Duties(site.harness.store, "w1", [Duty("any", timedelta(minutes=1).total_seconds(), run)], witness.checked)
    running = asyncio.create_task(duties.run())
    for _ in range(10):
        await asyncio.sleep(0)
    assert not ran.is_set()
    await site.look(witness)
    await asyncio.wait_for(ran.wait(), 20)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    await witness.close()
