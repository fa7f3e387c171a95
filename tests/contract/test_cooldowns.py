"""Cooldowns: a rate-limited account or channel waits until the time the network named, and no longer."""

from __future__ import annotations

from datetime import timedelta

import pytest

from postino.errors import NotFound
from postino.rules.claim_order import find_next_due_time
from postino.rules.cooldown import MIN_WAIT
from postino.rules.gates import compute_closed_gates
from postino.values.event import EventType
from postino.values.gate import Gate, GateKind, Scope
from postino.values.job import Job, State
from postino.values.outcome import Done
from tests.contract.harness import ME, StoreHarness, ids
from tests.contract.sample_posts import create, make_spec

INSTANT = timedelta(microseconds=1)
WHOSE = pytest.mark.parametrize(("scope", "name"), [(Scope.ACCOUNT, "acme"), (Scope.CHANNEL, "reports")])


async def one_for_each(harness: StoreHarness) -> tuple[Job, Job]:
    """Create a job that a cooldown of either scope blocks, and one that it does not."""
    return await harness.put(account="acme"), await harness.put(account="other", channel="exports")


@WHOSE
async def test_cooldown_holds_its_account_until_its_end_and_no_other(
    harness: StoreHarness, scope: Scope, name: str
) -> None:
    held, free = await one_for_each(harness)
    until_at = harness.clock.later(seconds=90)
    gate = await harness.store.start_cooldown(scope, name, until_at, "429")
    kept = {"since_at": harness.clock(), "until_at": until_at, "reason": "429"}
    assert gate == Gate(scope=scope, name=name, kind=GateKind.COOLDOWN, **kept)  # type: ignore[arg-type]
    assert ids(await harness.take()) == {free.id}
    harness.clock.now = until_at - INSTANT
    assert await harness.take() == []
    harness.clock.now = until_at
    (claimed,) = await harness.take()
    assert (claimed.id, claimed.attempts, claimed.run_at) == (held.id, 1, held.run_at)


@pytest.mark.parametrize("armed", [True, False])
async def test_lane_of_a_cooling_account_is_due_at_the_end_of_the_cooldown(harness: StoreHarness, armed: bool) -> None:
    await harness.put(account="acme")
    if armed:
        assert await harness.take(0) == []
    until_at = harness.clock.later(seconds=90)
    await harness.store.start_cooldown(Scope.ACCOUNT, "acme", until_at, "429")
    assert await harness.take() == []
    poll = await harness.store.poll("w1")
    assert find_next_due_time(poll.heads, compute_closed_gates(poll.gate_sources, poll.now), poll.now) == until_at


@WHOSE
async def test_cooldown_without_retry_after_starts_at_a_minute_and_doubles(
    harness: StoreHarness, scope: Scope, name: str
) -> None:
    for minutes in (1, 2, 4):
        gate = await harness.store.start_cooldown(scope, name, None, "429")
        assert gate.until_at == harness.clock.later(minutes=minutes)
        again = await harness.store.start_cooldown(scope, name, None, "the answer to a call that had left before")
        assert (again.since_at, again.until_at) == (gate.since_at, gate.until_at)
        harness.clock.turn(minutes=minutes)


@pytest.mark.parametrize("what", ["post", "part of the running post"])
async def test_success_of_the_account_resets_the_doubling(harness: StoreHarness, what: str) -> None:
    async def get_wait() -> timedelta:
        gate = await harness.store.start_cooldown(Scope.ACCOUNT, "anna", None, "429")
        assert gate.until_at is not None
        harness.clock.turn(seconds=(waited := gate.until_at - harness.clock()).total_seconds())
        return waited

    await create(harness.store, make_spec("anna"), make_spec("bruno"))
    jobs = {job.account: job for job in await harness.take()}
    assert [await get_wait() for _ in range(3)] == [timedelta(minutes=minutes) for minutes in (1, 2, 4)]
    await harness.end(jobs["bruno"], Done(remote_id="r0"))
    assert await get_wait() == timedelta(minutes=8), "it was another account"
    harness.clock.turn(seconds=1)
    if what == "post":
        await harness.end(jobs["anna"], Done(remote_id="r1"))
    else:
        await harness.intend(jobs["anna"], "part 1")
        await harness.accept(jobs["anna"], "r1", "part 1")
    harness.clock.turn(seconds=1)
    assert await get_wait() == timedelta(minutes=1)


@WHOSE
async def test_success_of_any_job_resets_the_doubling(harness: StoreHarness, scope: Scope, name: str) -> None:
    async def get_wait() -> timedelta:
        gate = await harness.store.start_cooldown(scope, name, None, "429")
        assert gate.until_at is not None
        harness.clock.turn(seconds=(waited := gate.until_at - harness.clock()).total_seconds())
        return waited

    held, free = await one_for_each(harness)
    jobs = {job.id: job for job in await harness.take()}
    assert [await get_wait() for _ in range(2)] == [timedelta(minutes=1), timedelta(minutes=2)]
    harness.clock.turn(seconds=1)
    await harness.end(jobs[free.id], Done())
    assert await get_wait() == timedelta(minutes=4), "it was another account and channel"
    harness.clock.turn(seconds=1)
    await harness.end(jobs[held.id], Done())
    harness.clock.turn(seconds=1)
    assert await get_wait() == timedelta(minutes=1)


@WHOSE
@pytest.mark.parametrize("fast", [-3600, 3600])
async def test_wait_counts_although_the_clocks_differ(
    harness: StoreHarness, scope: Scope, name: str, fast: int
) -> None:
    for _ in range(8):
        by_worker = harness.clock.later(seconds=fast)
        gate = await harness.store.start_cooldown(scope, name, by_worker + timedelta(seconds=90), "429", by_worker)
        assert gate.until_at == harness.clock.later(seconds=90)
        harness.clock.turn(seconds=90)


@WHOSE
async def test_rate_limit_with_a_passed_time_never_doubles(harness: StoreHarness, scope: Scope, name: str) -> None:
    for _ in range(14):
        gate = await harness.store.start_cooldown(scope, name, harness.clock(), "429")
        assert gate.until_at == harness.clock() + MIN_WAIT
        harness.clock.turn(seconds=MIN_WAIT.total_seconds())
    gate = await harness.store.start_cooldown(scope, name, None, "429")
    assert gate.until_at == harness.clock.later(minutes=1)


@WHOSE
async def test_rate_limit_with_a_time_does_not_double_the_next_one(
    harness: StoreHarness, scope: Scope, name: str
) -> None:
    for _ in range(8):
        await harness.store.start_cooldown(scope, name, harness.clock.later(seconds=4), "429")
        harness.clock.turn(seconds=5)
    gate = await harness.store.start_cooldown(scope, name, None, "429")
    assert gate.until_at == harness.clock.later(minutes=1)


@WHOSE
async def test_shorter_cooldown_does_not_cut_a_longer_one_short(harness: StoreHarness, scope: Scope, name: str) -> None:
    first = await harness.store.start_cooldown(scope, name, harness.clock.later(hours=2), "much too many")
    shorter = await harness.store.start_cooldown(scope, name, harness.clock.later(minutes=1), "too many")
    assert (shorter.since_at, shorter.until_at) == (first.since_at, first.until_at)
    longer = await harness.store.start_cooldown(scope, name, harness.clock.later(hours=3), "too many")
    assert longer.until_at == harness.clock.later(hours=3)


@WHOSE
async def test_cooldown_survives_a_restart(harness: StoreHarness, scope: Scope, name: str) -> None:
    held, free = await one_for_each(harness)
    gate = await harness.store.start_cooldown(scope, name, harness.clock.later(minutes=5), "429")
    another = await harness.open_another_store()
    assert list(await another.gates_for(scope, name)) == [gate]
    assert ids(await harness.take(store=another)) == {free.id}
    assert await harness.state(held) is State.PENDING


@WHOSE
async def test_person_ends_a_cooldown_at_once(harness: StoreHarness, scope: Scope, name: str) -> None:
    held, free = await one_for_each(harness)
    gate = await harness.store.start_cooldown(scope, name, harness.clock.later(hours=5), "429")
    assert ids(await harness.take()) == {free.id}
    assert await harness.store.end_cooldown(scope, name, ME) == gate
    assert ids(await harness.take()) == {held.id}
    (line,) = await harness.store.audit()
    assert (line.action, line.subject, line.actor) == ("gate.resumed", f"{scope}:{name}", "maria")


async def test_only_an_active_cooldown_can_be_ended(harness: StoreHarness) -> None:
    await harness.store.start_cooldown(Scope.ACCOUNT, "acme", harness.clock.later(seconds=1), "429")
    harness.clock.turn(seconds=1)
    with pytest.raises(NotFound, match="The account acme is not cooling down"):
        await harness.store.end_cooldown(Scope.ACCOUNT, "acme", ME)
    with pytest.raises(NotFound, match="The channel reports is not cooling down"):
        await harness.store.end_cooldown(Scope.CHANNEL, "reports", ME)


@WHOSE
async def test_cooldown_writes_an_event(harness: StoreHarness, scope: Scope, name: str) -> None:
    until_at = harness.clock.later(minutes=5)
    await harness.store.start_cooldown(scope, name, until_at, "429")
    (event,) = await harness.events()
    assert event.type == EventType.COOLDOWN_STARTED
    assert event.data == {"scope": scope, "name": name, "until_at": until_at.isoformat(), "reason": "429"}


async def test_cooldown_of_an_account_covers_all_its_channels(harness: StoreHarness) -> None:
    for channel in ("a", "b"):
        await harness.put(account="acme", channel=channel)
    await harness.take(0)
    await harness.store.start_cooldown(Scope.ACCOUNT, "acme", harness.clock.later(minutes=1), "429")
    assert await harness.take() == []
    harness.clock.turn(minutes=1)
    assert len(await harness.take()) == 2


async def test_jobs_enqueued_during_a_cooldown_wait_in_order(harness: StoreHarness) -> None:
    await harness.store.start_cooldown(Scope.ACCOUNT, "acme", harness.clock.later(minutes=1), "429")
    first = await harness.put(account="acme")
    harness.clock.turn(seconds=30)
    await harness.put(account="acme")
    assert await harness.take() == []
    harness.clock.turn(seconds=30)
    assert ids(await harness.take()) == {first.id}
