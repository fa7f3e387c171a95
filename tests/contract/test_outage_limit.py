"""A post without an end of its own does not wait for ever for a network in trouble."""

from __future__ import annotations

from datetime import timedelta

from postino.rules.circuit_breaker import BreakerPolicy
from postino.rules.settlement import DeadLetterCause
from postino.stores.records import AuditContext
from postino.values.gate import GateKind, Scope
from postino.values.job import State
from postino.values.post import AccountState
from tests.contract.harness import ME, StoreHarness
from tests.contract.sample_posts import account, create, wanted

HOURS = 6 * 3600
AT_ONCE = BreakerPolicy(failure_threshold=1, open_timeout=timedelta(minutes=2))


async def fail(harness: StoreHarness) -> None:
    await harness.store.record_response("mastodon", False, AT_ONCE, "It does not answer.")


async def test_it_fails_once_the_trouble_has_lasted_long_enough(harness: StoreHarness) -> None:
    [made] = await create(harness.store, wanted("anna"))
    await fail(harness)
    for _ in range(5):
        harness.clock.turn(hours=1)
        await fail(harness)
        assert await harness.store.fail_missed_posts(HOURS) == []
    harness.clock.turn(hours=1, seconds=1)  # SQLite computes times to the millisecond
    assert [job.id for job in await harness.store.fail_missed_posts(HOURS)] == [made.job.id]
    job = await harness.store.job(made.job.id)
    assert job.state is State.FAILED
    assert "the circuit of its network was open for 6 hours" in (job.last_error or "")
    assert (await harness.store.dead_letter(job.id)).cause is DeadLetterCause.MISSED


async def test_what_waited_for_something_else_is_not_failed_by_a_moment_of_trouble(harness: StoreHarness) -> None:
    await create(harness.store, wanted("anna"))
    await harness.store.pause(Scope.CHANNEL, "mastodon", ME)
    harness.clock.turn(hours=7)
    await fail(harness)
    assert await harness.store.fail_missed_posts(HOURS) == []
    harness.clock.turn(hours=5)
    await harness.store.close_circuit("mastodon", ME)
    await fail(harness)
    harness.clock.turn(hours=5)
    assert await harness.store.fail_missed_posts(HOURS) == [], "trouble that ended counts no more"


async def test_what_is_planned_for_later_does_not_wait_yet(harness: StoreHarness) -> None:
    await create(harness.store, wanted("anna", run_at=harness.clock.later(hours=4)))
    await fail(harness)
    harness.clock.turn(hours=7)
    assert await harness.store.fail_missed_posts(HOURS) == []


async def test_an_account_that_was_paused_stays_so_when_it_is_connected_again(harness: StoreHarness) -> None:
    await harness.store.save_account(account())
    await harness.store.set_account_state("anna", AccountState.PAUSED, "holidays", AuditContext("maria"))
    await harness.store.set_account_state("anna", AccountState.TOKEN_EXPIRED, "refused", AuditContext("postino"))
    assert {gate.kind for gate in await harness.store.gates()} == {GateKind.PAUSE, GateKind.TOKEN}
    await harness.store.save_account(account(sealed=b"new"))
    assert {gate.kind for gate in await harness.store.gates()} == {GateKind.PAUSE}
