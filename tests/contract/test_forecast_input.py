"""The input of a forecast: read from each kind of store, and the same after it is loaded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from postino.rules.blackout import parse_blackout
from postino.rules.quota import Quota, QuotaUse
from postino.stores.memory import memory_store
from postino.stores.store import Store
from postino.values.gate import Scope
from postino.values.job import State, new_id
from postino.values.outcome import Done
from tests.contract.harness import ME, StoreHarness

MOST = 100
DAILY = Quota(name="a day", most=9, period=timedelta(days=1), whose=Scope.ACCOUNT, costs={"post": 2})


@pytest.fixture
async def stage(harness: StoreHarness) -> AsyncIterator[Store]:
    stage = memory_store(harness.clock)
    await stage.open()
    yield stage
    await stage.close()


async def world(harness: StoreHarness) -> None:
    """Create one of each thing that can block a job."""
    await harness.run(Done(), channel="x", account="a1", brand="acme")
    await harness.put(channel="x", account="a1", brand="acme", run_at=harness.clock.later(minutes=5))
    await harness.put(channel="x", run_at=harness.clock.later(hours=5))
    await harness.add_uncertain_job(channel="x", account="a2")
    running = await harness.put(channel="x", account="a3")
    [claimed] = await harness.take(worker="w2")
    assert claimed.id == running.id
    await harness.store.reserve_quota(claimed, "post", 1, [DAILY])
    await harness.store.pause(Scope.BRAND, "acme", ME)
    await harness.store.start_cooldown(Scope.ACCOUNT, "a1", harness.clock.later(minutes=20), "too many")
    await harness.store.open_circuit("x", harness.clock.later(minutes=10), 2, ME)
    await harness.store.set_cap("x", 3, ME)
    fields = {"scope": "all", "start": "09:00", "end": "10:00", "timezone": "Europe/Rome"}
    await harness.store.add_blackout(parse_blackout(fields, new_id()), ME)


async def test_forecast_input_has_due_jobs_and_all_that_may_hold_them(harness: StoreHarness) -> None:
    await world(harness)
    result = await harness.store.forecast_input(harness.clock.later(hours=1), MOST)
    assert result.now == harness.clock()
    assert sorted((job.account or "", job.state) for job in result.jobs) == [
        ("a1", State.PENDING),
        ("a2", State.UNCERTAIN),
        ("a3", State.RUNNING),
    ]
    assert all(job.payload == b"" for job in result.jobs)
    assert {(gate.scope, gate.name) for gate in result.gates} == {(Scope.BRAND, "acme"), (Scope.ACCOUNT, "a1")}
    assert [(breaker.service, breaker.probes) for breaker in result.circuits] == [("x", 2)]
    assert (result.caps, len(result.blackouts)) == ({"x": 3}, 1)
    assert set(result.served) == {("x", "acme")}
    assert result.lasted == {"x": timedelta(0)}
    assert result.spent == (("x", "a3", "a day", QuotaUse(harness.clock(), 2)),)
    assert len((await harness.store.forecast_input(harness.clock.later(hours=1), 2)).jobs) == 2


async def test_loaded_forecast_equals_its_input(harness: StoreHarness, stage: Store) -> None:
    await world(harness)
    until_at = harness.clock.later(hours=1)
    result = await harness.store.forecast_input(until_at, MOST)
    held = await stage.load_forecast(result, ["imagined"])
    again = await stage.forecast_input(until_at, MOST)
    assert {job.id: job for job in again.jobs} == {job.id: job for job in result.jobs}
    assert [(job.account, job.claimed_by) for job in held] == [("a3", "imagined")]
    known, _ = await harness.store.gate_sources()
    there, _ = await stage.gate_sources()
    assert replace(there, gates=(), caps={}) == replace(known, gates=(), caps={})
    gates = [[replace(gate, since_at=None) for gate in outlook.gates] for outlook in (result, again)]
    assert gates[0] == gates[1]
    assert (again.caps, again.served, again.spent) == (result.caps, result.served, result.spent)
