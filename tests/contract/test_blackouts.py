"""Blackouts: no covered job is claimed inside a window, and all are at its end."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any
from uuid import uuid4

import pytest

from postino.errors import NotFound
from postino.rules.blackout import Blackout, render_blackout
from postino.rules.claim_order import find_next_due_time
from postino.rules.gates import compute_closed_gates
from postino.values.event import EventType
from postino.values.gate import Scope
from tests.contract.harness import ME, StoreHarness, ids

INSTANT = timedelta(microseconds=1)
COVERED: dict[Scope, str] = {Scope.ALL: "", Scope.CHANNEL: "reports", Scope.BRAND: "shoes", Scope.ACCOUNT: "acme"}
FREE: dict[Scope, dict[str, Any]] = {
    Scope.CHANNEL: {"channel": "exports", "account": "acme", "brand": "shoes"},
    Scope.BRAND: {"account": "other", "brand": "hats"},
    Scope.ACCOUNT: {"account": "other", "brand": "shoes"},
}
SCOPES = pytest.mark.parametrize("scope", COVERED)


def blackout(scope: Scope = Scope.ALL, start: int = 13, end: int = 14, **fields: Any) -> Blackout:
    usual = {"name": COVERED[scope], "timezone": "UTC"}
    return Blackout(id=uuid4(), scope=scope, start=time(start), end=time(end), **{**usual, **fields})


@pytest.fixture
def noon(harness: StoreHarness) -> datetime:
    """Tomorrow's, and the clock shows it: an hour before the usual window."""
    harness.clock.now = (harness.clock() + timedelta(days=1)).replace(hour=12, minute=0, second=0, microsecond=0)
    return harness.clock()


@SCOPES
@pytest.mark.parametrize("armed", [True, False])
async def test_blackout_holds_jobs_until_its_last_instant(
    harness: StoreHarness, noon: datetime, scope: Scope, armed: bool
) -> None:
    await harness.store.add_blackout(blackout(scope), ME)
    held = await harness.put(account="acme", brand="shoes", run_at=noon + timedelta(minutes=75))
    if armed:
        assert await harness.take() == []
    free = await harness.put(run_at=held.run_at, **FREE[scope]) if scope in FREE else None
    assert held.run_at is not None
    harness.clock.now = held.run_at
    assert ids(await harness.take()) == ({free.id} if free else set())
    harness.clock.now = noon + timedelta(hours=2) - INSTANT
    assert await harness.take() == []
    harness.clock.now = noon + timedelta(hours=2)
    (claimed,) = await harness.take()
    assert (claimed.id, claimed.attempts, claimed.run_at) == (held.id, 1, held.run_at)


@SCOPES
async def test_blackout_begins_at_its_first_instant(harness: StoreHarness, noon: datetime, scope: Scope) -> None:
    await harness.store.add_blackout(blackout(scope), ME)
    first = await harness.put(account="acme", brand="shoes")
    harness.clock.now = noon + timedelta(hours=1) - INSTANT
    assert ids(await harness.take()) == {first.id}
    await harness.put(account="acme2" if scope is not Scope.ACCOUNT else "acme", brand="shoes")
    harness.clock.now += INSTANT
    assert await harness.take() == []


@pytest.mark.parametrize("scope", [Scope.ALL, Scope.CHANNEL])
async def test_blackout_covers_jobs_without_an_account(harness: StoreHarness, noon: datetime, scope: Scope) -> None:
    jobs = await harness.put_many(3)
    await harness.store.add_blackout(blackout(scope, 12, 13), ME)
    assert await harness.take() == []
    harness.clock.turn(hours=1)
    assert ids(await harness.take()) == ids(jobs)


@SCOPES
async def test_adding_or_removing_a_blackout_takes_effect_at_once(
    harness: StoreHarness, noon: datetime, scope: Scope
) -> None:
    held = await harness.put(account="acme", brand="shoes")
    assert await harness.take(0) == []
    added = await harness.store.add_blackout(blackout(scope, 11, 20), ME)
    assert await harness.take() == []
    await harness.put(account="acme", brand="shoes")
    assert await harness.take() == []
    assert await harness.store.remove_blackout(added.id, ME) == added
    assert ids(await harness.take()) == {held.id}


async def test_overlapping_blackouts_end_with_the_later_one(harness: StoreHarness, noon: datetime) -> None:
    job = await harness.put(account="acme", brand="shoes")
    long = await harness.store.add_blackout(blackout(Scope.BRAND, 11, 20), ME)
    await harness.store.add_blackout(blackout(Scope.ACCOUNT, 11, 15), ME)
    harness.clock.now = noon + timedelta(hours=3)
    assert await harness.take() == []
    await harness.store.remove_blackout(long.id, ME)
    assert ids(await harness.take()) == {job.id}


@pytest.mark.parametrize("scope", [Scope.BRAND, Scope.ACCOUNT])
@pytest.mark.parametrize("armed", [True, False])
async def test_next_due_time_is_the_end_of_the_blackout(
    harness: StoreHarness, noon: datetime, scope: Scope, armed: bool
) -> None:
    """Also for lanes that were ready when it began."""
    await harness.store.add_blackout(blackout(scope), ME)
    await harness.put(account="acme", brand="shoes", run_at=noon + timedelta(minutes=75))
    if armed:
        assert await harness.take() == []
    harness.clock.now = noon + timedelta(minutes=80)
    assert await harness.take() == []
    poll = await harness.store.poll("w1")
    assert find_next_due_time(
        poll.heads, compute_closed_gates(poll.gate_sources, poll.now), poll.now
    ) == noon + timedelta(hours=2)


async def test_accounts_in_a_blackout_take_no_slot_from_others(harness: StoreHarness, noon: datetime) -> None:
    names = [f"acme{number:03}" for number in range(40)]
    for name in names:
        await harness.put(account=name)
        await harness.store.add_blackout(blackout(Scope.ACCOUNT, 13, 14, name=name), ME)
    assert await harness.take(0) == []
    harness.clock.turn(minutes=30)
    free = await harness.put(account="free")
    harness.clock.turn(minutes=30)
    assert ids(await harness.take(1)) == {free.id}
    harness.clock.turn(hours=1)
    assert len(await harness.take()) == 40


async def test_blackouts_are_stored_as_given_and_survive_a_restart(harness: StoreHarness, noon: datetime) -> None:
    added = [
        await harness.store.add_blackout(blackout(scope, 22, 7, timezone="Europe/Rome", days=frozenset({0, 6})), ME)
        for scope in COVERED
    ]
    another = await harness.open_another_store()
    assert sorted(await another.blackouts(), key=lambda it: it.scope) == sorted(added, key=lambda it: it.scope)
    assert set((await another.poll("w1")).gate_sources.blackouts) == set(added)


async def test_blackout_changes_write_events_and_audit_entries(harness: StoreHarness) -> None:
    added = await harness.store.add_blackout(blackout(Scope.BRAND, reason="a quiet hour"), ME)
    await harness.store.remove_blackout(added.id, ME)
    results = [(event.type, event.data) for event in await harness.events()]
    assert results == [
        (EventType.BLACKOUT_ADDED, render_blackout(added)),
        (EventType.BLACKOUT_REMOVED, render_blackout(added)),
    ]
    lines = [(line.action, line.subject, line.actor, line.reason) for line in await harness.store.audit()]
    subject = f"blackout:{added.id}"
    assert lines == [
        ("blackout.removed", subject, "maria", "because"), ("blackout.added", subject, "maria", "because")
    ]  # fmt: skip


async def test_unknown_blackout_cannot_be_removed(harness: StoreHarness) -> None:
    with pytest.raises(NotFound, match=r"Blackout .* does not exist"):
        await harness.store.remove_blackout(uuid4(), ME)
    assert await harness.store.audit() == []
