"""The rows of processes that live no more: they are few, and nothing is taken for lost when they are deleted."""

from __future__ import annotations

from structlog.testing import capture_logs

from postino.engine.witness import Witness
from postino.values.database import Standing
from postino.values.job import Job
from postino.values.ledger import IntentEntry
from postino.values.post import POST
from tests.contract.restore_site import Site


async def take_post(site: Site) -> Job:
    await site.harness.put(type=POST, channel="telegram", account="acme")
    return await site.harness.take_one()


def list_rows(site: Site) -> set[str]:
    return {row[0] for row in site.harness.database.sql("SELECT id FROM {witnesses}")}


async def start_busy(site: Site, machine: str) -> Witness:
    """Start a process, and let it send a post."""
    witness = await site.start(machine)
    assert isinstance(await site.send(witness, await take_post(site)), IntentEntry)
    return witness


def add_rows(site: Site, count: int, n: int, seen_at: str) -> None:
    rows = ", ".join(f"('old {number}', {n}, '{seen_at}')" for number in range(count))
    site.harness.database.sql(f"INSERT INTO {{witnesses}} (id, n, seen_at) VALUES {rows}")


async def test_rows_of_processes_that_sent_nothing_are_deleted_after_minutes(site: Site) -> None:
    idle, busy = await site.start("idle"), await start_busy(site, "busy")
    last = await site.start("last")
    await site.pulse(last, times=12)
    assert list_rows(site) == {idle.id, busy.id, last.id}, "six minutes"
    await site.pulse(last, times=12)
    assert list_rows(site) == {busy.id, last.id}


async def test_rows_of_processes_that_sent_something_are_deleted_after_90_days(site: Site) -> None:
    witness = await site.start()
    now = site.harness.clock.now
    add_rows(site, 3, 5, (now.replace(year=now.year - 1)).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
    await site.pulse(witness)
    assert list_rows(site) == {witness.id}


async def test_polls_and_headers_hold_only_the_processes_of_the_last_minutes(site: Site) -> None:
    """Each process of a container without a volume takes a new id. A header can hold less than 2,000 of them."""
    witness, other = await site.start("one"), await site.start("two")
    add_rows(site, 3000, 5, site.harness.clock.later(days=-1).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
    await site.pulse(other, witness)
    expected = {witness.id: 0, other.id: 0}
    poll = await site.harness.store.poll("w1", witnesses=[witness.id])
    assert poll.database.counts == expected
    assert (await site.harness.store.database_state()).counts == expected
    assert (await site.harness.store.poll("w1", witnesses=["old 7"])).database.counts == expected | {"old 7": 5}
    [contents] = await witness.storage.read_files()
    assert contents.header is not None
    assert contents.header.counts == expected
    assert witness.storage.trouble is None
    await site.pulse(other, times=24)
    await site.pulse(witness)
    assert (await site.look(witness)).standing is Standing.OPEN
    await site.look(witness)
    assert witness.memory is not None
    assert witness.memory.counts == expected


async def test_process_whose_row_was_deleted_while_it_was_frozen_continues(site: Site) -> None:
    frozen, other = await site.start("one"), await site.start("two")
    await site.pulse(other, times=24)
    assert list_rows(site) == {other.id}
    assert (await site.look(frozen)).standing is Standing.OPEN
    assert list_rows(site) == {frozen.id, other.id}
    assert isinstance(await site.send(frozen, await take_post(site)), IntentEntry)


async def test_process_that_lost_its_row_and_sent_nothing_gets_a_new_row_at_once(site: Site) -> None:
    site.back_up()
    witness = await site.start("one")
    other = await site.start("two")
    await site.look(witness)
    site.harness.database.sql(f"DELETE FROM {{witnesses}} WHERE id = '{witness.id}'")
    await site.look(witness)
    assert list_rows(site) == {witness.id, other.id}


async def prune_row(site: Site, witness: Witness) -> Witness:
    """Let nobody use the database for 91 days, then a process of another machine, which deletes the row."""
    site.harness.clock.turn(days=91)
    other = await site.start("other", is_trusted=True)
    await site.pulse(other)
    assert witness.id not in list_rows(site)
    return other


async def test_frozen_process_whose_row_was_deleted_after_months_finds_nothing_lost(site: Site) -> None:
    witness = await start_busy(site, "one")
    await site.pulse(witness)
    await prune_row(site, witness)
    with capture_logs() as logs:
        assert (await site.look(witness)).standing is Standing.OPEN
    assert list_rows(site) >= {witness.id}
    assert logs == []


async def test_file_whose_row_was_deleted_after_months_proves_no_loss(site: Site) -> None:
    witness = await start_busy(site, "one")
    await site.pulse(witness)
    await witness.close()
    await prune_row(site, witness)
    with capture_logs() as logs:
        again = await site.start("one")
    assert (await site.look(again)).standing is Standing.OPEN
    assert (again.id, again.n, again.memory is not None) == (witness.id, 1, True)
    assert logs == []
