"""A post without a deadline does not wait for ever for a network that is down."""

from __future__ import annotations

from datetime import timedelta

from postino.rules.circuit_breaker import BreakerPolicy
from postino.rules.settlement import DeadLetterCause
from postino.stores.records import AuditContext
from postino.values.gate import GateKind, Scope
from postino.values.job import State
from postino.values.post import AccountState
from tests.contract.harness import ME, StoreHarness
from tests.contract.sample_posts import account, create, make_spec

HOURS = 6 * 3600
AT_ONCE = BreakerPolicy(failure_threshold=1, open_timeout=timedelta(minutes=2))


async def fail(harness: StoreHarness) -> None:
    await harness.store.record_response("mastodon", False, AT_ONCE, "It does not answer.")


async def test_post_fails_when_its_network_is_down_for_too_long(harness: StoreHarness) -> None:
    [made] = await create(harness.store, make_spec("anna"))
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


async def test_short_outage_does_not_fail_a_post_that_waited_for_another_reason(harness: StoreHarness) -> None:
    await create(harness.store, make_spec("anna"))
    await harness.store.pause(Scope.CHANNEL, "mastodon", ME)
    harness.clock.turn(hours=7)
    await fail(harness)
    assert await harness.store.fail_missed_posts(HOURS) == []
    harness.clock.turn(hours=5)
    await harness.store.close_circuit("mastodon", ME)
    await fail(harness)
    harness.clock.turn(hours=5)
    assert await harness.store.fail_missed_posts(HOURS) == [], "trouble that ended counts no more"


async def test_scheduled_post_does_not_fail_before_its_time(harness: StoreHarness) -> None:
    await create(harness.store, make_spec("anna", run_at=harness.clock.later(hours=4)))
    await fail(harness)
    harness.clock.turn(hours=7)
    assert await harness.store.fail_missed_posts(HOURS) == []


async def test_paused_account_stays_paused_when_reconnected(harness: StoreHarness) -> None:
    await harness.store.save_account(account())
    await harness.store.set_account_state("anna", AccountState.PAUSED, "holidays", AuditContext("maria"))
    await harness.store.set_account_state("anna", AccountState.TOKEN_EXPIRED, "refused", AuditContext("postino"))
    assert {gate.kind for gate in await harness.store.gates()} == {GateKind.PAUSE, GateKind.TOKEN}
    await harness.store.save_account(account(sealed=b"new"))
    assert {gate.kind for gate in await harness.store.gates()} == {GateKind.PAUSE}
