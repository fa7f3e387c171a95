"""Circuits: what opens them, which probes are admitted, and actions of people."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from postino.rules.circuit_breaker import Breaker, BreakerPolicy, CircuitState
from postino.stores.records import AuditContext
from postino.values.event import Event, EventType
from postino.values.job import Job, State
from postino.values.outcome import Done
from tests.contract.harness import ME, StoreHarness, ids

OPEN_FOR = timedelta(seconds=120)
POLICY = BreakerPolicy(failure_threshold=3, open_timeout=OPEN_FOR)
TWO_PROBES = BreakerPolicy(failure_threshold=3, open_timeout=OPEN_FOR, half_open_max_attempts=2)
PATHS = pytest.mark.parametrize("path", ["bulk", "lanes"])


async def fail(
    harness: StoreHarness, times: int = 3, policy: BreakerPolicy = POLICY, channel: str = "reports"
) -> Breaker:
    for _ in range(times):
        breaker = await harness.store.record_response(channel, False, policy, "status 503")
    return breaker


async def put_some(harness: StoreHarness, path: str, count: int = 6) -> list[Job]:
    return [await harness.put(account=f"acme{number}" if path == "lanes" else None) for number in range(count)]


async def list_circuit_events(harness: StoreHarness) -> list[Event]:
    return [event for event in await harness.events() if event.type.startswith("circuit.")]


async def make_half_open(harness: StoreHarness, policy: BreakerPolicy = POLICY, path: str = "bulk") -> datetime:
    """Enqueue jobs and let the open timeout of a circuit end."""
    await put_some(harness, path)
    breaker = await fail(harness, policy=policy)
    assert breaker.until_at is not None
    harness.clock.now = breaker.until_at
    return breaker.until_at


@PATHS
async def test_open_circuit_holds_its_channel_and_no_other(harness: StoreHarness, path: str) -> None:
    waiting = await put_some(harness, path)
    other = await harness.put(channel="exports", account="acme0")
    assert (await fail(harness, times=2)).state is CircuitState.CLOSED
    breaker = await fail(harness, times=1)
    opened_at = harness.clock()
    assert (breaker.state, breaker.since_at, breaker.until_at) == (CircuitState.OPEN, opened_at, opened_at + OPEN_FOR)
    assert ids(await harness.take()) == {other.id}
    harness.clock.now = opened_at + OPEN_FOR - timedelta(microseconds=1)
    assert await harness.take() == []
    for job in waiting:
        now_is = await harness.store.job(job.id)
        assert (now_is.state, now_is.attempts, now_is.run_at) == (State.PENDING, 0, job.run_at)


async def test_opening_a_circuit_writes_one_event_with_the_reason(harness: StoreHarness) -> None:
    breaker = await fail(harness, times=5)
    (event,) = await list_circuit_events(harness)
    assert event.type == EventType.CIRCUIT_OPENED
    assert breaker.until_at is not None
    assert event.data == {"service": "reports", "reason": "status 503", "until_at": breaker.until_at.isoformat()}


async def test_concurrent_failures_are_all_counted(harness: StoreHarness) -> None:
    stores = [harness.store, *[await harness.open_another_store() for _ in range(2)]]
    policy = BreakerPolicy(failure_threshold=9)
    await asyncio.gather(*(stores[turn % 3].record_response("reports", False, policy, "down") for turn in range(9)))
    (breaker,) = await harness.store.circuits()
    assert (breaker.state, len(breaker.failures)) == (CircuitState.OPEN, 9)
    assert [event.type for event in await list_circuit_events(harness)] == [EventType.CIRCUIT_OPENED]


async def test_circuit_survives_a_restart(harness: StoreHarness) -> None:
    breaker = await fail(harness)
    another = await harness.open_another_store()
    assert list(await another.circuits()) == [breaker]
    assert (await another.poll("w1")).gate_sources.breakers == (breaker,)


@PATHS
@pytest.mark.parametrize(("policy", "probes"), [(POLICY, 1), (TWO_PROBES, 2)])
async def test_half_open_circuit_admits_its_number_of_probes(
    harness: StoreHarness, policy: BreakerPolicy, probes: int, path: str
) -> None:
    at = await make_half_open(harness, policy, path)
    assert len(await harness.take()) == probes
    assert await harness.take() == []
    (_, event) = await list_circuit_events(harness)
    assert (event.type, event.data, event.at) == (EventType.CIRCUIT_HALF_OPENED, {"service": "reports"}, at)


@PATHS
@pytest.mark.parametrize(("policy", "probes"), [(POLICY, 1), (TWO_PROBES, 2)])
async def test_concurrent_claims_half_open_a_circuit_once(
    harness: StoreHarness, policy: BreakerPolicy, probes: int, path: str
) -> None:
    await make_half_open(harness, policy, path)
    stores = [harness.store, *[await harness.open_another_store() for _ in range(2)]]
    claims = await asyncio.gather(*(harness.take(1, store=stores[turn % 3]) for turn in range(9)))
    probing = [job for claim in claims for job in claim]
    assert 1 <= len(probing) <= probes
    probing += await harness.take()
    assert len(probing) == probes
    assert [event.type for event in await list_circuit_events(harness)] == [
        EventType.CIRCUIT_OPENED,
        EventType.CIRCUIT_HALF_OPENED,
    ]


async def test_circuit_stays_open_while_no_job_waits_for_it(harness: StoreHarness) -> None:
    await fail(harness)
    harness.clock.turn(minutes=5)
    await harness.put(channel="exports")
    assert len(await harness.take()) == 1
    assert (await harness.store.circuits())[0].state is CircuitState.OPEN


async def test_finished_probe_makes_room_for_the_next(harness: StoreHarness) -> None:
    await make_half_open(harness)
    (probe,) = await harness.take()
    assert await harness.end(probe, Done())
    assert len(await harness.take()) == 1


async def test_probe_of_a_dead_worker_is_freed(harness: StoreHarness) -> None:
    await make_half_open(harness)
    assert len(await harness.take()) == 1
    await harness.hire("w2")
    assert await harness.take(worker="w2") == []
    await harness.kill("w1")
    assert len(await harness.take(worker="w2")) == 1
    assert await harness.take(worker="w2") == []


async def test_probe_of_a_dead_worker_in_doubt_is_freed_when_its_call_is_over(
    harness: StoreHarness,
) -> None:
    await make_half_open(harness, path="lanes")
    (probe,) = await harness.take()
    await harness.intend(probe)
    await harness.kill("w1")
    await harness.hire("w2")
    lookup_at = (await harness.store.job(probe.id)).lookup_at
    assert lookup_at is not None
    harness.clock.now = lookup_at - timedelta(microseconds=1)
    assert await harness.take(worker="w2") == []
    harness.clock.now = lookup_at
    assert ids(await harness.take(worker="w2")) == {probe.id}


async def test_healthy_response_closes_the_circuit(harness: StoreHarness) -> None:
    await make_half_open(harness)
    (probe,) = await harness.take()
    breaker = await harness.store.record_response("reports", True, POLICY, None)
    assert (breaker.state, breaker.failures, breaker.trips) == (CircuitState.CLOSED, (), 0)
    assert len(await harness.take()) == 5
    assert [event.type for event in await list_circuit_events(harness)][2:] == [EventType.CIRCUIT_CLOSED]
    assert await harness.end(probe, Done())


async def test_failed_probe_opens_the_circuit_for_twice_as_long(harness: StoreHarness) -> None:
    at = await make_half_open(harness)
    await harness.take()
    breaker = await fail(harness, times=1)
    assert (breaker.state, breaker.until_at) == (CircuitState.OPEN, at + 2 * OPEN_FOR)
    harness.clock.now = at + 2 * OPEN_FOR - timedelta(microseconds=1)
    assert await harness.take() == []
    assert [event.type for event in await list_circuit_events(harness)][2:] == [EventType.CIRCUIT_OPENED]


@pytest.mark.parametrize(("cap", "expected"), [(0, 0), (1, 1), (50, 2)])
async def test_probes_never_exceed_the_cap_of_the_channel(harness: StoreHarness, cap: int, expected: int) -> None:
    await harness.store.set_cap("reports", cap, ME)
    await make_half_open(harness, TWO_PROBES)
    assert len(await harness.take()) == expected


async def test_circuit_opened_by_hand_is_not_closed_by_a_response(harness: StoreHarness) -> None:
    await put_some(harness, "bulk")
    until_at = harness.clock.later(hours=2)
    breaker = await harness.store.open_circuit("reports", until_at, 2, AuditContext("maria", "their maintenance"))
    assert (breaker.state, breaker.until_at, breaker.reason) == (CircuitState.OPEN, until_at, "their maintenance")
    assert (await harness.store.record_response("reports", True, POLICY, None)).state is CircuitState.OPEN
    assert await harness.take() == []
    harness.clock.now = until_at
    assert len(await harness.take()) == 2


async def test_circuit_opened_without_an_end_stays_open_until_closed_by_hand(harness: StoreHarness) -> None:
    await put_some(harness, "lanes")
    await harness.store.open_circuit("reports", None, 1, ME)
    harness.clock.turn(days=30)
    assert await harness.take() == []
    assert (await harness.store.close_circuit("reports", ME)).state is CircuitState.CLOSED
    assert len(await harness.take()) == 6


ACTS: list[Any] = [
    pytest.param("open_circuit", (None, 1), CircuitState.OPEN, id="open"),
    pytest.param("close_circuit", (), CircuitState.CLOSED, id="close"),
    pytest.param("reset_circuit", (), CircuitState.CLOSED, id="reset"),
]


@pytest.mark.parametrize(("act", "arguments", "state"), ACTS)
async def test_circuit_actions_write_events_and_audit_entries(
    harness: StoreHarness, act: str, arguments: tuple[Any, ...], state: CircuitState
) -> None:
    before = CircuitState.CLOSED if state is CircuitState.OPEN else CircuitState.OPEN
    if before is CircuitState.OPEN:
        await fail(harness)
    breaker = await getattr(harness.store, act)("reports", *arguments, ME)
    assert (breaker.service, breaker.state) == ("reports", state)
    (line,) = await harness.store.audit()
    assert (line.actor, line.action, line.subject, line.reason) == (
        "maria", f"circuit.{'opened' if state is CircuitState.OPEN else 'closed'}", "circuit:reports", "because"
    )  # fmt: skip
    assert (await list_circuit_events(harness))[-1].type == line.action


async def test_closing_keeps_the_trip_count_and_reset_clears_it(
    harness: StoreHarness,
) -> None:
    await fail(harness)
    assert (await harness.store.close_circuit("reports", ME)).trips == 1
    breaker = await fail(harness)
    assert breaker.until_at == harness.clock() + 2 * OPEN_FOR
    assert await harness.store.reset_circuit("reports", ME) == Breaker(service="reports")
    assert (await fail(harness)).until_at == harness.clock() + OPEN_FOR


@pytest.mark.parametrize("why", ["no\x00luck", "half \ud83d", None])
async def test_circuit_reason_of_any_text_is_stored(harness: StoreHarness, why: str | None) -> None:
    for _ in range(3):
        await harness.store.record_response("reports", False, POLICY, why)
    assert (await harness.store.circuits())[0].state is CircuitState.OPEN
    assert await harness.take() == []
