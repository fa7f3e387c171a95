"""Jobs that have sent something go on: fewer gates hold them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import time, timedelta
from uuid import uuid4

import pytest

from postino.rules.blackout import Blackout
from postino.rules.gates import is_blocking, list_closed_gates
from postino.stores.operations import gates
from postino.stores.records import AuditContext
from postino.values.gate import GateKind, Scope
from postino.values.job import Job, State
from postino.values.outcome import Defer, Done, Reject
from tests.contract.harness import ME, StoreHarness, ids
from tests.contract.sample_posts import create, make_spec

INSTANT = timedelta(microseconds=1)
Close = Callable[[StoreHarness], Awaitable[object]]
OURS = {
    Scope.ALL: "", Scope.QUEUE: "default", Scope.CHANNEL: "reports", Scope.BRAND: "shoes", Scope.ACCOUNT: "acme"
}  # fmt: skip


def pause_scope(scope: Scope) -> Close:
    return lambda harness: harness.store.pause(scope, OURS[scope], ME)


def black_out_scope(scope: Scope) -> Close:
    window = Blackout(id=uuid4(), scope=scope, name=OURS[scope], start=time(0), end=time(0), timezone="UTC")
    return lambda harness: harness.store.add_blackout(window, ME)


def close_scope(scope: Scope, kind: GateKind) -> Close:
    return lambda harness: harness.store.driver.transact(gates.close_gate(scope, OURS[scope], kind))


PASSED = [
    *(pytest.param(pause_scope(scope), id=f"pause-{scope}") for scope in OURS),
    *(pytest.param(black_out_scope(scope), id=f"blackout-{scope}") for scope in OURS if scope is not Scope.QUEUE),
    pytest.param(close_scope(Scope.ACCOUNT, GateKind.QUOTA), id="quota-account"),
    pytest.param(close_scope(Scope.CHANNEL, GateKind.QUOTA), id="quota-channel"),
]
HELD = [
    pytest.param(lambda harness: harness.store.open_circuit("reports", None, 1, ME), id="breaker"),
    pytest.param(
        lambda harness: harness.store.start_cooldown(Scope.CHANNEL, "reports", None, "429"), id="cool-channel"
    ),
    pytest.param(lambda harness: harness.store.start_cooldown(Scope.ACCOUNT, "acme", None, "429"), id="cool-account"),
    pytest.param(close_scope(Scope.ACCOUNT, GateKind.TOKEN), id="token"),
]


async def add_waiting_job(harness: StoreHarness, account: str = "acme", minutes: float = 1) -> Job:
    """Return a job that has sent something and waits for its next run."""
    job = await harness.put(account=account, brand="shoes")
    (claimed,) = await harness.take()
    assert claimed.id == job.id
    await harness.intend(claimed)
    await harness.accept(claimed, f"remote of {job.id}")
    assert await harness.end(claimed, Defer(harness.clock.later(minutes=minutes), "not ready"))
    return await harness.store.job(job.id)


@pytest.mark.parametrize("close", PASSED)
async def test_pauses_and_blackouts_do_not_hold_a_started_job(harness: StoreHarness, close: Close) -> None:
    started = await add_waiting_job(harness)
    await harness.put(account="acme", brand="shoes")
    harness.clock.turn(seconds=59)
    await close(harness)
    assert await harness.take() == []
    harness.clock.turn(seconds=1)
    assert ids(await harness.take()) == {started.id}
    (running,) = [await harness.store.job(started.id)]
    assert await harness.end(running, Done())
    assert await harness.take() == []


async def add_refused_job(harness: StoreHarness) -> Job:
    """Return a job whose only call was certainly refused, and that waits for its next try."""
    job = await harness.put(account="acme", brand="shoes")
    (claimed,) = await harness.take()
    await harness.intend(claimed)
    await harness.refuse(claimed)
    assert await harness.end(await harness.store.job(job.id), Defer(harness.clock.later(minutes=1), "rate limit"))
    assert await harness.take() == [], "workers have read all hints"
    return await harness.store.job(job.id)


@pytest.mark.parametrize("close", [*PASSED, *HELD])
async def test_every_gate_holds_a_job_whose_calls_were_all_refused(harness: StoreHarness, close: Close) -> None:
    job = await add_refused_job(harness)
    harness.clock.turn(minutes=2)
    await close(harness)
    assert await harness.take() == []
    facts = (await harness.store.explain_input(job)).facts
    closed = list_closed_gates(facts.gate_sources, harness.clock())
    assert any(is_blocking(gate, job) for gate in closed), "explain says the same"


@pytest.mark.parametrize("deed", ["edit", "reschedule", "replay"])
async def test_refused_job_is_claimed_after_a_person_changed_it(harness: StoreHarness, deed: str) -> None:
    job = await add_refused_job(harness)
    match deed:
        case "edit":
            await harness.store.edit_job(job.id, b"new", ME)
        case "reschedule":
            await harness.store.reschedule_job(job.id, harness.clock.later(minutes=1), ME)
        case _:
            harness.clock.turn(minutes=1)
            (again,) = await harness.take()
            assert await harness.end(again, Reject("no"))
            await harness.store.pause(Scope.ACCOUNT, "acme", ME)
            assert not (await harness.store.replay_dead_letter(job.id, None, True, ME)).may_be_live
            assert await harness.take() == [], "a pause holds it like any other"
            await harness.store.resume(Scope.ACCOUNT, "acme", ME)
    harness.clock.turn(minutes=1)
    assert ids(await harness.take()) == {job.id}


@pytest.mark.parametrize("close", HELD)
async def test_breaker_and_cooldown_hold_a_started_job(harness: StoreHarness, close: Close) -> None:
    started = await add_waiting_job(harness)
    await close(harness)
    harness.clock.turn(seconds=30)
    other = await harness.put(account="acme", brand="shoes", channel="exports")
    harness.clock.turn(seconds=29)
    free = ids(await harness.take())
    assert free <= {other.id}
    harness.clock.turn(seconds=0.5)
    assert await harness.state(started) is State.PENDING
    assert await harness.take() == []


async def test_started_job_is_claimed_before_jobs_that_sent_nothing(harness: StoreHarness) -> None:
    started = await add_waiting_job(harness)
    await harness.put(account="acme", brand="shoes")
    await harness.put(account="other", brand="shoes")
    harness.clock.turn(minutes=1)
    assert ids(await harness.take(1)) == {started.id}


async def test_started_jobs_of_one_account_take_no_slot_from_others(harness: StoreHarness) -> None:
    first = [await add_waiting_job(harness, "acme") for _ in range(3)]
    other = await add_waiting_job(harness, "other")
    harness.clock.turn(minutes=1)
    claimed = await harness.take(2)
    assert len(claimed) == 2
    assert ids(claimed) - ids(first) == {other.id}


async def test_account_with_a_call_in_doubt_runs_no_other_job(harness: StoreHarness) -> None:
    started = await add_waiting_job(harness)
    lost = await harness.add_uncertain_job(account="acme", brand="shoes")
    assert lost.lookup_at is not None
    assert started.run_at is not None
    harness.clock.now = lost.lookup_at - INSTANT
    harness.database.sql(f"UPDATE {{jobs}} SET run_at = created_at WHERE id = '{started.id}'")
    assert await harness.take(worker="w2") == []
    harness.clock.now = lost.lookup_at
    (first,) = await harness.take(worker="w2")
    assert first.id in {started.id, lost.id}


async def test_job_that_ignores_blackouts_runs_in_a_blackout_but_not_in_a_pause(harness: StoreHarness) -> None:
    for close in (black_out_scope(Scope.ALL), black_out_scope(Scope.BRAND), black_out_scope(Scope.ACCOUNT)):
        await close(harness)
    (pressing,) = await create(
        harness.store, make_spec("acme", channel="reports", brand="shoes", ignore_blackouts=True)
    )
    await create(harness.store, make_spec("acme2", channel="reports", brand="shoes"))
    await harness.store.pause(Scope.BRAND, "shoes", ME)
    assert await harness.take() == []
    await harness.store.resume(Scope.BRAND, "shoes", ME)
    assert ids(await harness.take()) == {pressing.job.id}


async def test_job_that_ignores_blackouts_is_held_by_a_paused_account(harness: StoreHarness) -> None:
    started = await add_waiting_job(harness)
    await create(harness.store, make_spec("acme", channel="reports", brand="shoes", ignore_blackouts=True))
    await harness.store.pause(Scope.ACCOUNT, "acme", AuditContext("maria", "holidays"))
    harness.clock.turn(minutes=1)
    assert ids(await harness.take()) == {started.id}


@pytest.mark.parametrize("scope", OURS)
async def test_pause_after_the_claim_wins_over_the_intent(harness: StoreHarness, scope: Scope) -> None:
    job = await harness.put(account="acme", brand="shoes")
    (claimed,) = await harness.take()
    await harness.store.pause(scope, OURS[scope], ME)
    assert await harness.intend(claimed) is None
    assert not (await harness.store.job(job.id)).may_be_live
    await harness.store.resume(scope, OURS[scope], ME)
    assert await harness.intend(claimed) is not None


@pytest.mark.parametrize("scope", [scope for scope in OURS if scope is not Scope.ALL])
async def test_pause_of_others_does_not_refuse_an_intent(harness: StoreHarness, scope: Scope) -> None:
    await harness.put(account="acme", brand="shoes")
    (claimed,) = await harness.take()
    await harness.store.pause(scope, "low" if scope is Scope.QUEUE else f"not {OURS[scope]}", ME)
    assert await harness.intend(claimed) is not None


async def test_pause_does_not_refuse_the_next_intent_of_a_started_job(harness: StoreHarness) -> None:
    await add_waiting_job(harness, minutes=0)
    (claimed,) = await harness.take()
    await harness.store.pause(Scope.ACCOUNT, "acme", ME)
    assert await harness.intend(claimed, "second") is not None


async def test_pause_refuses_the_next_intent_of_a_started_job_without_a_lane(harness: StoreHarness) -> None:
    job = await harness.put()
    (claimed,) = await harness.take()
    await harness.intend(claimed)
    lookup_at = (await harness.store.job(job.id)).lookup_at
    await harness.store.pause(Scope.ALL, "", ME)
    harness.clock.turn(minutes=1)
    assert await harness.intend(claimed, "second") is None
    assert [intent.step for intent in (await harness.store.ledger(job.id)).intents] == ["post"]
    assert (await harness.store.job(job.id)).lookup_at == lookup_at
