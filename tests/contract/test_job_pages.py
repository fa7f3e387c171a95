"""Pages of jobs equal the whole list, and no page reads everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from postino.stores.operations import jobs, pagination
from postino.stores.records import JobFilter
from postino.values.job import Job, Queue, State
from postino.values.outcome import Done, Reject
from tests.contract.harness import ME, StoreHarness

ASKED = [
    JobFilter(),
    JobFilter(type="rare"),
    JobFilter(channel="b"),
    JobFilter(account="anna"),
    JobFilter(queue=Queue.HIGH),
    JobFilter(brands=("rosso",)),
    JobFilter(brands=("rosso", "verde"), channel="a"),
    JobFilter(brands=()),
    JobFilter(states=(State.RUNNING,)),
    JobFilter(states=(State.RUNNING, State.UNCERTAIN), brands=("rosso",)),
    JobFilter(states=(State.PENDING,), channel="a"),
    JobFilter(states=(State.FAILED, State.COMPLETED)),
    JobFilter(states=(State.FAILED, State.PENDING), account="anna"),
]


async def crowd(harness: StoreHarness) -> None:
    await harness.run(Done(), channel="a", brand="rosso")
    failed = await harness.run(Reject("no"), channel="b", account="anna", brand="rosso")
    await harness.run(Reject("no"), channel="b", account="anna")
    parent = await harness.put(channel="c", brand="rosso", queue=Queue.HIGH)
    await harness.take_one()
    await harness.store.replay_dead_letter(failed.id, None, True, ME)
    for number in range(8):
        brand, account = ("verde", "anna") if number % 3 == 0 else (None, None)
        later = harness.clock.later(hours=number + 1)
        await harness.put(channel="ab"[number % 2], brand=brand, account=account, run_at=later, parent_id=parent.id)
    await harness.put(type="rare", channel="r", run_at=harness.clock.later(days=1))


async def every_page(harness: StoreHarness, result: JobFilter) -> Sequence[Job]:
    results: list[Job] = []
    while True:
        page = await harness.store.jobs_page(result)
        assert len(page.jobs) <= result.limit
        results += page.jobs
        if page.next is None:
            return results
        result = replace(result, before=page.next)


@pytest.mark.parametrize("most", [4, 10_000])
async def test_pages_of_jobs_equal_the_whole_list(
    harness: StoreHarness, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MAX_SCANNED", most)
    await crowd(harness)
    for item in ASKED:
        whole = await harness.store.jobs(replace(item, limit=100))
        for limit in (1, 2, 50):
            assert await every_page(harness, replace(item, limit=limit)) == whole, item
    assert len(await harness.store.jobs(JobFilter(limit=100))) == 13


@pytest.mark.parametrize("most", [0, 1, 5])
async def test_pages_cut_by_their_bytes_have_every_job_once(
    harness: StoreHarness, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (jobs, pagination):
        monkeypatch.setattr(module, "MAX_PAGE_BYTES", most)
    await crowd(harness)
    for item in ASKED:
        whole = await harness.store.jobs(replace(item, limit=100))
        assert await every_page(harness, replace(item, limit=50)) == whole, item
    page = await harness.store.jobs_page(JobFilter(limit=50))
    assert 0 < len(page.jobs) < 13


async def test_page_reads_a_bounded_number_of_jobs(harness: StoreHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MAX_SCANNED", 5)
    first = await harness.put(type="rare")
    await harness.put_many(20)
    page = await harness.store.jobs_page(JobFilter(type="rare", limit=2))
    assert page.jobs == []
    assert page.next is not None
    assert [job.id for job in await every_page(harness, JobFilter(type="rare", limit=2))] == [first.id]
