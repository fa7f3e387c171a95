"""Unreachable jobs: none arises, and one that is made by hand is found."""

from __future__ import annotations

from dataclasses import replace
from datetime import time
from itertools import product
from typing import Any
from uuid import uuid4

import pytest

from postino.rules.blackout import Blackout
from postino.values.gate import Scope
from postino.values.job import Queue
from postino.values.outcome import Defer, Done, Retry, Unknown
from tests.contract.harness import ME, StoreHarness, ids

LANES = [{"account": "acme"}, {"brand": "shoes"}, {"account": "acme", "brand": "shoes"}]


@pytest.mark.parametrize("fields", LANES)
async def test_job_whose_hint_is_lost_is_listed_and_hinted_again(harness: StoreHarness, fields: dict[str, str]) -> None:
    other = await harness.put(account="other")
    assert await harness.take(free=0) == []
    job = await harness.put(**fields)
    assert await harness.store.unreachable_jobs() == []
    harness.database.sql("DELETE FROM {lane_hints}")
    assert ids(await harness.take()) == {other.id}
    assert ids(await harness.store.unreachable_jobs()) == {job.id}
    assert ids(await harness.store.hint_unreachable_jobs()) == {job.id}
    assert await harness.store.unreachable_jobs() == []
    assert ids(await harness.take()) == {job.id}


async def test_job_whose_lane_is_due_too_late_is_listed(harness: StoreHarness) -> None:
    harness.all_reachable = False
    job = await harness.put(account="acme", run_at=harness.clock.later(minutes=1))
    assert await harness.take(free=0) == []
    harness.database.sql("UPDATE {lane_due} SET due_at = '9998-01-01T00:00:00.000000Z'")
    assert await harness.store.unreachable_jobs() == [await harness.store.job(job.id)]


async def test_every_lane_queue_and_brand_is_looked_at(harness: StoreHarness) -> None:
    harness.all_reachable = False
    owners = [(account, brand) for account in ("x", "y", None) for brand in ("p", "q", None) if account or brand]
    lines = product(("a", "b"), owners, (Queue.HIGH, Queue.LOW))
    jobs = [
        await harness.put(channel=channel, account=account, brand=brand, queue=queue)
        for channel, (account, brand), queue in lines
    ]
    harness.database.sql("DELETE FROM {lane_hints}")
    assert ids(await harness.store.unreachable_jobs()) == ids(jobs)


async def test_jobs_that_wait_for_a_gate_or_another_job_are_reachable(harness: StoreHarness) -> None:
    always = Blackout(id=uuid4(), scope=Scope.BRAND, name="dark", start=time(0), end=time(0), timezone="UTC")
    await harness.store.add_blackout(always, ME)
    await harness.store.add_blackout(replace(always, id=uuid4(), scope=Scope.ACCOUNT), ME)
    await harness.store.pause(Scope.BRAND, "shoes", ME)
    await harness.store.pause(Scope.ACCOUNT, "acme", ME)
    await harness.store.start_cooldown(Scope.ACCOUNT, "cool", harness.clock.later(hours=1), "429")
    for fields in (
        {"brand": "dark"},
        {"account": "dark"},
        {"brand": "shoes"},
        {"account": "acme"},
        {"account": "cool"},
    ):
        await harness.put(**fields)
    await harness.put_many(2, account="busy")
    await harness.put_many(2, account="doubt")
    await harness.put()
    claimed = await harness.take()
    for job in claimed:
        if job.account == "doubt":
            await harness.intend(job)
            assert await harness.end(await harness.store.job(job.id), Unknown("no answer"))
    await harness.take(free=0)
    assert await harness.store.unreachable_jobs() == []


@pytest.mark.parametrize("fields", [{}, *LANES])
async def test_job_whose_channel_is_unknown_is_listed_and_found_again(
    harness: StoreHarness, fields: dict[str, str]
) -> None:
    """Polls look for due jobs of known channels only."""
    for channel in ("a", "b", "c"):
        await harness.put(channel=channel, **fields)
    assert await harness.store.unreachable_jobs() == []
    harness.database.sql("DELETE FROM {channels} WHERE channel <> 'b'")
    lost = await harness.store.unreachable_jobs()
    assert {job.channel for job in lost} == {"a", "c"}
    assert ids(await harness.store.hint_unreachable_jobs()) == ids(lost)
    assert await harness.store.unreachable_jobs() == []
    assert {job.channel for job in await harness.take()} == {"a", "b", "c"}
    assert await harness.store.hint_unreachable_jobs() == []


async def test_started_job_whose_channel_is_unknown_is_listed_and_found_again(harness: StoreHarness) -> None:
    harness.all_reachable = False
    await harness.put(account="acme")
    [job] = await harness.take()
    await harness.intend(job)
    assert await harness.end(await harness.store.job(job.id), Unknown("no answer", harness.clock.later(minutes=1)))
    assert (await harness.store.job(job.id)).may_be_live
    harness.database.sql("DELETE FROM {channels}")
    assert ids(await harness.store.unreachable_jobs()) == {job.id}
    await harness.store.hint_unreachable_jobs()
    assert await harness.store.unreachable_jobs() == []
    harness.clock.turn(minutes=2)
    assert ids(await harness.take()) == {job.id}


@pytest.mark.parametrize("outcome", [Done(), Retry("busy"), Unknown("?"), Defer])
async def test_other_jobs_of_a_lane_are_reachable_after_each_ending(harness: StoreHarness, outcome: object) -> None:
    await harness.put_many(3, account="acme", brand="shoes")
    await harness.put_many(3, brand="shoes")
    for job in await harness.take():
        ending = Defer(harness.clock.later(minutes=1), "later") if outcome is Defer else outcome
        assert await harness.end(job, ending)  # type: ignore[arg-type]
        assert await harness.store.unreachable_jobs() == []
    await harness.take(free=0)
    assert await harness.store.unreachable_jobs() == []


async def test_writes_do_not_wait_for_the_look_at_all_lanes(
    harness: StoreHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On SQLite one thread writes. It does no more than insert hints, and only if there is something to hint at."""
    written, transact = [], harness.store.driver.transact

    async def record(operation: Any, **options: Any) -> Any:
        written.append(operation.__name__)
        return await transact(operation, **options)

    monkeypatch.setattr(harness.store.driver, "transact", record)
    assert await harness.store.hint_unreachable_jobs() == []
    assert written == []
