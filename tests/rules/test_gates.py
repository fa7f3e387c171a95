"""Which gates are closed, until when, and which jobs they block, as tables."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID

import pytest

from postino.rules.blackout import Blackout
from postino.rules.circuit_breaker import Breaker, CircuitState
from postino.rules.gates import (
    BLOCKS_STARTED,
    FOREVER,
    NO_CLOSED_GATES,
    RECHECK_AFTER,
    ClosedGates,
    GateSources,
    compute_closed_gates,
    describe_closed_gate,
    is_blocking,
    wait_for_gate,
)
from postino.values.gate import Gate, GateKind, Scope
from postino.values.job import Job, Queue, State
from postino.values.outcome import Defer, GateClosed

NOW = datetime(2026, 3, 29, 12, 0, tzinfo=UTC)
EARLIER, SOON, LATER = NOW - timedelta(hours=1), NOW + timedelta(minutes=5), NOW + timedelta(hours=1)


def gate(scope: Scope, name: str, kind: GateKind = GateKind.PAUSE, until_at: datetime | None = None) -> Gate:
    return Gate(scope=scope, name=name, kind=kind, since_at=EARLIER, until_at=until_at)


def blackout(scope: Scope, name: str, start: int, end: int) -> Blackout:
    return Blackout(id=UUID(int=1), scope=scope, name=name, start=time(start), end=time(end), timezone="UTC")


def open_breaker(until_at: datetime | None, probes: int = 1) -> Breaker:
    return Breaker(service="x", state=CircuitState.OPEN, since_at=EARLIER, until_at=until_at, probes=probes)


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        ([gate(Scope.QUEUE, "low")], {"queues": {"low": FOREVER}}),
        ([gate(Scope.CHANNEL, "x")], {"channels": {"x": FOREVER}}),
        ([gate(Scope.BRAND, "shoes")], {"brands": {"shoes": FOREVER}}),
        ([gate(Scope.ACCOUNT, "acme")], {"accounts": {"acme": FOREVER}}),
        ([gate(Scope.ALL, "")], {"everything": FOREVER}),
        ([gate(Scope.BRAND, "shoes", until_at=LATER)], {"brands": {"shoes": LATER}}),
        ([gate(Scope.BRAND, "shoes", until_at=NOW)], {}),
        ([gate(Scope.BRAND, "shoes", until_at=EARLIER)], {}),
        (
            [gate(Scope.BRAND, "a", until_at=LATER), gate(Scope.BRAND, "a", GateKind.QUOTA, SOON)],
            {"brands": {"a": LATER}},
        ),
        (
            [gate(Scope.BRAND, "a", until_at=LATER), gate(Scope.BRAND, "a", GateKind.QUOTA)],
            {"brands": {"a": FOREVER}},
        ),
        (
            [gate(Scope.BRAND, "a"), gate(Scope.BRAND, "b"), gate(Scope.QUEUE, "a")],
            {"queues": {"a": FOREVER}, "brands": {"a": FOREVER, "b": FOREVER}},
        ),
        (
            [gate(Scope.CHANNEL, "x", GateKind.COOLDOWN, SOON)],
            {"channels": {"x": SOON}, "channels_closed_to_started": frozenset({"x"})},
        ),
    ],
)
def test_a_gate_is_closed_until_its_time_and_the_latest_time_wins(gates: list[Gate], expected: dict[str, Any]) -> None:
    closed_gates = compute_closed_gates(GateSources(tuple(gates)), NOW)
    assert replace(closed_gates, gates=()) == ClosedGates(**expected)
    assert set(closed_gates.gates) == {it for it in gates if it.until_at is None or it.until_at > NOW}


@pytest.mark.parametrize(
    ("blackouts", "expected"),
    [
        ([blackout(Scope.ALL, "", 11, 13)], {"everything": NOW.replace(hour=13)}),
        ([blackout(Scope.ALL, "", 12, 13)], {"everything": NOW.replace(hour=13)}),
        ([blackout(Scope.ALL, "", 11, 12)], {}),
        ([blackout(Scope.CHANNEL, "x", 0, 0)], {"channels": {"x": FOREVER}}),  # adjacent days have no end
        ([blackout(Scope.BRAND, "a", 11, 13)], {"brands": {"a": NOW.replace(hour=13)}}),
        ([blackout(Scope.ACCOUNT, "a", 22, 15)], {"accounts": {"a": NOW.replace(hour=15)}}),
        (
            [blackout(Scope.BRAND, "a", 11, 13), blackout(Scope.BRAND, "a", 9, 20)],
            {"brands": {"a": NOW.replace(hour=20)}},
        ),
    ],
)
def test_a_blackout_closes_its_scope_until_the_end_of_its_window(
    blackouts: list[Blackout], expected: dict[str, Any]
) -> None:
    closed_gates = compute_closed_gates(GateSources(blackouts=tuple(blackouts)), NOW)
    assert replace(closed_gates, gates=()) == ClosedGates(**expected)
    assert all(it.kind is GateKind.BLACKOUT and it.reason for it in closed_gates.gates)
    assert bool(closed_gates.gates) is bool(expected)


@pytest.mark.parametrize(
    ("breaker", "cap", "channels", "caps"),
    [
        (Breaker(service="x", failures=(EARLIER,)), None, {}, {}),
        (open_breaker(SOON), None, {"x": SOON}, {}),
        (open_breaker(None), None, {"x": FOREVER}, {}),
        (open_breaker(SOON), 5, {"x": SOON}, {"x": 5}),
        (open_breaker(NOW), None, {}, {"x": 1}),
        (open_breaker(NOW, probes=3), None, {}, {"x": 3}),
        (open_breaker(NOW, probes=3), 50, {}, {"x": 3}),
        (open_breaker(NOW, probes=3), 2, {}, {"x": 2}),
        (open_breaker(NOW, probes=3), 0, {}, {"x": 0}),
        (Breaker(service="x", state=CircuitState.HALF_OPEN, probes=2), 50, {}, {"x": 2}),
    ],
)
def test_an_open_circuit_is_a_gate_and_a_half_open_one_is_a_cap(
    breaker: Breaker, cap: int | None, channels: dict[str, datetime], caps: dict[str, int]
) -> None:
    closed_gates = compute_closed_gates(GateSources(breakers=(breaker,), caps={} if cap is None else {"x": cap}), NOW)
    assert (closed_gates.channels, closed_gates.caps) == (channels, caps)
    assert closed_gates.channels_closed_to_started == channels.keys()


def test_without_sources_no_gate_is_closed() -> None:
    assert compute_closed_gates(GateSources(), NOW) is NO_CLOSED_GATES
    assert compute_closed_gates(GateSources(caps={"x": 0}), NOW) == ClosedGates(caps={"x": 0})


JOB = Job(
    id=UUID(int=7), type="post", channel="x", queue=Queue.LOW, state=State.PENDING, payload=b"", idempotency_key="",
    scheduled_at=NOW, run_at=NOW, created_at=NOW, account="acme", brand="shoes",
)  # fmt: skip


@pytest.mark.parametrize("kind", GateKind)
@pytest.mark.parametrize(
    ("scope", "own_name"),
    [(Scope.ALL, ""), (Scope.QUEUE, "low"), (Scope.CHANNEL, "x"), (Scope.BRAND, "shoes"), (Scope.ACCOUNT, "acme")],
)
def test_a_gate_blocks_jobs_in_its_scope_and_fewer_started_jobs(scope: Scope, own_name: str, kind: GateKind) -> None:
    assert is_blocking(gate(scope, own_name, kind), JOB)
    assert is_blocking(gate(scope, own_name, kind), replace(JOB, may_be_live=True)) is (kind in BLOCKS_STARTED)
    assert is_blocking(gate(scope, own_name, kind), replace(JOB, ignore_blackouts=True)) is (
        kind is not GateKind.BLACKOUT
    )
    if scope is not Scope.ALL:
        assert not is_blocking(gate(scope, "another", kind), JOB)
        assert not is_blocking(gate(scope, "", kind), replace(JOB, account=None, brand=None))
    if scope in (Scope.ALL, Scope.QUEUE, Scope.CHANNEL):
        assert is_blocking(gate(scope, own_name, kind), replace(JOB, account=None, brand=None, may_be_live=True))


@pytest.mark.parametrize("until_at", [LATER, None])
@pytest.mark.parametrize("kind", GateKind)
def test_job_that_met_a_gate_which_does_not_hold_it_waits_by_its_own_time(
    kind: GateKind, until_at: datetime | None
) -> None:
    """Otherwise claims would take half a thread again and again while the quota for its next part is used up."""
    closed = gate(Scope.ACCOUNT, "acme", kind, until_at)
    assert type(wait_for_gate(closed, JOB, NOW)) is GateClosed
    half_a_thread = wait_for_gate(closed, replace(JOB, may_be_live=True), NOW)
    if kind in BLOCKS_STARTED:
        assert type(half_a_thread) is GateClosed
    else:
        assert type(half_a_thread) is Defer
        assert half_a_thread.until == (until_at or NOW + RECHECK_AFTER)


@pytest.mark.parametrize(
    ("kind", "scope", "name", "sentence"),
    [
        (GateKind.PAUSE, Scope.ALL, "", "Everything is paused"),
        (GateKind.PAUSE, Scope.BRAND, "shoes", "Brand shoes is paused"),
        (GateKind.TOKEN, Scope.ACCOUNT, "mastodon:acme", "Account mastodon:acme cannot publish"),
        (GateKind.BLACKOUT, Scope.ALL, "", "A blackout covers everything"),
        (GateKind.BLACKOUT, Scope.CHANNEL, "x", "A blackout covers channel x"),
        (GateKind.BREAKER, Scope.CHANNEL, "x", "The circuit of x is open"),
        (GateKind.COOLDOWN, Scope.ACCOUNT, "mastodon:acme", "Account mastodon:acme is rate-limited by Mastodon"),
        (GateKind.COOLDOWN, Scope.CHANNEL, "google_business",
         "All accounts are rate-limited by Google Business Profile"),
        (GateKind.COOLDOWN, Scope.ACCOUNT, "forum:ada", "Account forum:ada is rate-limited by Forum"),
        (GateKind.QUOTA, Scope.ACCOUNT, "x:ada", "Account x:ada has used up its quota"),
    ],
)  # fmt: skip
def test_every_closed_gate_has_a_sentence(kind: GateKind, scope: Scope, name: str, sentence: str) -> None:
    closed = gate(scope, name, kind)
    assert describe_closed_gate(closed) == f"{sentence}."
    assert describe_closed_gate(replace(closed, reason="a sale")) == f"{sentence}: a sale"


def test_the_sentence_says_that_a_person_opened_the_circuit() -> None:
    opened = replace(gate(Scope.CHANNEL, "x", GateKind.BREAKER), manual=True)
    assert describe_closed_gate(opened) == "The circuit of x was opened by a person."
