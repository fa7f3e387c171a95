"""Circuits of services: the accounts of a network at one origin. Other origins of the network never notice them."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import pytest

from postino.config import RetentionConfig
from postino.rules.blockers import BlockerKind, find_blockers
from postino.rules.circuit_breaker import Breaker, BreakerPolicy, CircuitState
from postino.rules.gates import compute_closed_gates
from postino.stores.operations.circuits import NEXT_PROBE_AFTER, PER_ACCOUNT
from postino.values.event import EventType
from postino.values.gate import GateKind, Scope
from postino.values.job import Job, State
from postino.values.outcome import Done, GateClosed, Reject, Retry
from postino.values.post import POST
from tests.contract.harness import ME, StoreHarness, ids
from tests.contract.sample_posts import account, create, make_spec

OPEN_FOR = timedelta(seconds=120)
POLICY = BreakerPolicy(failure_threshold=3, open_timeout=OPEN_FOR)
TWO_PROBES = BreakerPolicy(failure_threshold=3, open_timeout=OPEN_FOR, half_open_max_attempts=2)
BROKEN, WELL, FAILING = "mastodon@broken.example", "mastodon@well.example", "mastodon@failing.example"
ORIGINS = {service: f"https://{service.partition('@')[2]}" for service in (BROKEN, WELL, FAILING)}
HOURS = 6 * 3600


async def add_accounts(harness: StoreHarness, service: str, *names: str) -> None:
    for name in names:
        await harness.store.save_account(account(name, base_url=ORIGINS[service]))


async def put_posts(harness: StoreHarness, *names: str) -> dict[str, Job]:
    return {name: await harness.put(type=POST, channel="mastodon", account=name, brand=name) for name in names}


async def fail(harness: StoreHarness, service: str = BROKEN, times: int = 3, policy: BreakerPolicy = POLICY) -> Breaker:
    for _ in range(times):
        breaker = await harness.store.record_response(service, False, policy, "status 500")
    return breaker


async def open_broken(harness: StoreHarness, *names: str, policy: BreakerPolicy = POLICY) -> tuple[list[Job], datetime]:
    """Return the posts of these accounts of the broken server, whose circuit has opened, and when its time is over."""
    await add_accounts(harness, BROKEN, *names)
    posts = await put_posts(harness, *names)
    breaker = await fail(harness, policy=policy)
    assert breaker.until_at is not None
    return [*posts.values()], breaker.until_at


async def list_circuit_events(harness: StoreHarness) -> list[str]:
    return [event.type for event in await harness.events() if event.type.startswith("circuit.")]


async def test_broken_server_holds_its_own_accounts_and_no_others(harness: StoreHarness) -> None:
    await add_accounts(harness, WELL, "w1", "w2")
    broken, until_at = await open_broken(harness, "b1", "b2")
    well = await put_posts(harness, "w1", "w2")
    other = await harness.put(channel="telegram", account="b1")
    stranger = await harness.put(channel="mastodon", account="unknown")
    assert ids(await harness.take()) == {*ids([*well.values()]), other.id, stranger.id}
    harness.clock.now = until_at - timedelta(microseconds=1)
    assert await harness.take() == []
    for job in broken:
        now_is = await harness.store.job(job.id)
        assert (now_is.state, now_is.attempts, now_is.run_at) == (State.PENDING, 0, job.run_at)


async def test_gate_of_a_service_is_that_of_its_accounts_only(harness: StoreHarness) -> None:
    await add_accounts(harness, WELL, "w1")
    [held], until_at = await open_broken(harness, "b1")
    [gate] = await harness.store.gates_for(Scope.ACCOUNT, "b1")
    assert (gate.scope, gate.name, gate.kind, gate.until_at) == (Scope.SERVICE, BROKEN, GateKind.BREAKER, until_at)
    assert await harness.store.gates_for(Scope.ACCOUNT, "w1") == []
    assert await harness.store.find_blocking_gate(held) == gate
    facts = (await harness.store.explain_input(held)).facts
    assert [gate.name for gate in compute_closed_gates(facts.gate_sources, harness.clock()).gates] == [BROKEN]
    elsewhere = await harness.put(channel="telegram", account="b1")
    assert await harness.store.find_blocking_gate(elsewhere) is None


async def test_explain_names_the_service_and_its_probes(harness: StoreHarness) -> None:
    broken, until_at = await open_broken(harness, "b1", "b2")
    for job in broken:
        [blocker] = find_blockers((await harness.store.explain_input(job)).facts, harness.clock())
        assert (blocker.kind, blocker.until_at) == (BlockerKind.BREAKER, until_at)
        assert blocker.sentence == f"The circuit of {BROKEN} is open."
        assert f"postino circuits close {BROKEN} " in (blocker.unblock or "")
    harness.clock.now = until_at
    [probe] = await harness.take()
    [waiting] = [job for job in broken if job.id != probe.id]
    [blocker] = find_blockers((await harness.store.explain_input(waiting)).facts, harness.clock())
    assert (blocker.kind, blocker.sentence) == (
        BlockerKind.CAP, f"The circuit of {BROKEN} is half-open and allows 1 at a time.",
    )  # fmt: skip


@pytest.mark.parametrize(("policy", "probes"), [(POLICY, 1), (TWO_PROBES, 2)])
async def test_probes_are_capped_for_each_service(harness: StoreHarness, policy: BreakerPolicy, probes: int) -> None:
    names = [f"b{number}" for number in range(5)]
    broken, until_at = await open_broken(harness, *names, policy=policy)
    await add_accounts(harness, WELL, "w1", "w2", "w3")
    well = await put_posts(harness, "w1", "w2", "w3")
    await fail(harness, WELL, policy=policy)
    harness.clock.now = until_at
    await harness.hire("w2")
    other = await harness.open_another_store()
    first, second = await asyncio.gather(harness.take(), harness.take(worker="w2", store=other))
    claimed = [*first, *second]
    assert len(ids(claimed) & ids(broken)) == probes
    assert len(ids(claimed) & ids([*well.values()])) == probes
    assert await harness.take() == []
    events = await list_circuit_events(harness)
    assert events.count(EventType.CIRCUIT_HALF_OPENED) == 2, "once for each service"


async def test_success_of_a_probe_frees_all_accounts_at_once(harness: StoreHarness) -> None:
    broken, until_at = await open_broken(harness, "b1", "b2", "b3")
    harness.clock.now = until_at
    [probe] = await harness.take()
    assert (await harness.store.record_response(BROKEN, True, POLICY, None)).state is CircuitState.CLOSED
    assert await harness.end(probe, Done(remote_id="1"))
    assert ids(await harness.take()) == ids(broken) - {probe.id}
    assert (await list_circuit_events(harness))[-1] == EventType.CIRCUIT_CLOSED


async def test_failure_of_a_probe_holds_all_accounts_for_longer(harness: StoreHarness) -> None:
    _, until_at = await open_broken(harness, "b1", "b2", "b3")
    harness.clock.now = until_at
    [probe] = await harness.take()
    again = await fail(harness, times=1)
    assert await harness.end(probe, GateClosed(harness.clock(), "no"))
    assert again.until_at == until_at + 2 * OPEN_FOR
    harness.clock.now = again.until_at - timedelta(microseconds=1)
    assert await harness.take() == []
    harness.clock.now = again.until_at
    assert len(await harness.take()) == 1


@pytest.mark.parametrize("outcome", [Reject("The picture does not exist."), Retry("The picture's host is down.")])
async def test_next_probe_follows_one_without_a_result(harness: StoreHarness, outcome: Reject | Retry) -> None:
    _, until_at = await open_broken(harness, "b1", "b2", "b3")
    harness.clock.now = until_at
    [probe] = await harness.take()
    assert await harness.end(probe, outcome)
    assert await harness.take() == []
    harness.clock.turn(seconds=NEXT_PROBE_AFTER + 3 * PER_ACCOUNT + 0.01)  # SQLite rounds to milliseconds
    [next_probe] = await harness.take()
    assert next_probe.account != probe.account or isinstance(outcome, Retry)


async def test_running_and_lost_probes_keep_their_place(harness: StoreHarness) -> None:
    _, until_at = await open_broken(harness, "b1", "b2")
    harness.clock.now = until_at
    [probe] = await harness.take()
    harness.clock.turn(seconds=NEXT_PROBE_AFTER + 1)
    assert await harness.take() == [], "it still runs"
    await harness.intend(probe)
    await harness.kill()
    await harness.hire("w2")
    harness.clock.turn(seconds=NEXT_PROBE_AFTER + 1)
    assert await harness.take(worker="w2") == [], "its request may still arrive"
    harness.clock.turn(seconds=60)
    assert len(await harness.take(worker="w2")) == 1


async def test_next_probe_follows_a_killed_one_as_soon_as_its_call_cannot_be_under_way(harness: StoreHarness) -> None:
    _, until_at = await open_broken(harness, "b1", "b2")
    harness.clock.now = until_at
    [probe] = await harness.take()
    intent = await harness.intend(probe)
    assert intent is not None
    await harness.kill()
    await harness.hire("w2")
    harness.clock.now = intent.lookup_at - timedelta(seconds=0.5)
    assert await harness.take(worker="w2") == []
    harness.clock.now = intent.lookup_at + timedelta(seconds=0.01)
    assert len(await harness.take(worker="w2")) == 1


async def test_started_posts_of_a_broken_server_wait_too(harness: StoreHarness) -> None:
    await add_accounts(harness, BROKEN, "b1", "b2")
    await add_accounts(harness, WELL, "w1")
    started = [*(await put_posts(harness, "b1", "b2", "w1")).values()]
    for claimed in await harness.take():
        await harness.remember(claimed, "media", "1")
        await harness.intend(claimed)
        await harness.accept(claimed, f"id of {claimed.account}")
        assert await harness.end(claimed, Retry("the next part"))
    breaker = await fail(harness)
    harness.clock.turn(seconds=70)
    assert ids(await harness.take()) == {started[2].id}
    assert breaker.until_at is not None
    harness.clock.now = breaker.until_at
    assert len(ids(await harness.take()) & ids(started[:2])) == 1, "a probe"


async def test_person_opens_a_service_or_a_whole_network(harness: StoreHarness) -> None:
    await add_accounts(harness, BROKEN, "b1")
    await add_accounts(harness, WELL, "w1")
    posts = await put_posts(harness, "b1", "w1")
    await harness.store.open_circuit("mastodon", None, 1, ME)
    assert await harness.take() == []
    await harness.store.open_circuit(BROKEN, None, 1, ME)
    await harness.store.close_circuit("mastodon", ME)
    assert ids(await harness.take()) == {posts["w1"].id}
    harness.clock.turn(hours=100)
    assert await harness.take() == [], "until a person closes it"
    await harness.store.reset_circuit(BROKEN, ME)
    assert ids(await harness.take()) == {posts["b1"].id}


async def test_account_that_moves_to_another_server_leaves_its_circuit(harness: StoreHarness) -> None:
    [held], _ = await open_broken(harness, "b1")
    assert await harness.take() == []
    await add_accounts(harness, WELL, "b1")
    assert ids(await harness.take()) == {held.id}


async def test_account_that_joins_a_broken_server_is_held(harness: StoreHarness) -> None:
    await open_broken(harness, "b1")
    await add_accounts(harness, BROKEN, "b2")
    await put_posts(harness, "b2")
    assert await harness.take() == []


async def test_poll_reads_no_service_that_it_does_not_ask_for(harness: StoreHarness) -> None:
    for number in range(50):
        await fail(harness, f"mastodon@s{number}.example")
    await fail(harness, "reports")
    poll = await harness.store.poll("w1", services=["mastodon@s7.example", "mastodon@unknown.example"])
    assert [breaker.service for breaker in poll.gate_sources.breakers] == ["reports"]
    assert [breaker.service for breaker in poll.service_circuits] == ["mastodon@s7.example"]
    assert {gate.name for gate in compute_closed_gates(poll.gate_sources, poll.now).gates} == {"reports"}
    assert poll.gate_sources.caps == {}
    rows = harness.database.sql("SELECT count(*) FROM {caps} WHERE channel LIKE '%@%'")
    assert [tuple(row) for row in rows] == [(0,)], "no row for the cap of a service"


async def test_unused_circuits_of_services_are_deleted(harness: StoreHarness) -> None:
    await add_accounts(harness, BROKEN, "b1")
    await add_accounts(harness, WELL, "w1")
    await fail(harness, BROKEN)
    await fail(harness, WELL)
    await harness.store.close_circuit(WELL, ME)
    await add_accounts(harness, FAILING, "f1")
    await fail(harness, FAILING, times=1)
    await fail(harness, "mastodon@gone.example")
    await fail(harness, "reports")
    await harness.store.prune(RetentionConfig())
    assert {breaker.service for breaker in await harness.store.circuits()} == {BROKEN, WELL, FAILING, "reports"}
    harness.clock.turn(hours=25)
    await harness.store.prune(RetentionConfig())
    assert {breaker.service for breaker in await harness.store.circuits()} == {BROKEN, FAILING, "reports"}


async def test_post_fails_when_its_server_is_down_for_too_long(harness: StoreHarness) -> None:
    await add_accounts(harness, BROKEN, "b1")
    await add_accounts(harness, WELL, "w1")
    jobs = [(await create(harness.store, make_spec(name, fingerprint=name)))[0].job for name in ("b1", "w1")]
    await fail(harness)
    harness.clock.turn(hours=6, seconds=1)
    await fail(harness)
    assert ids(await harness.store.fail_missed_posts(HOURS)) == {jobs[0].id}


async def test_forecast_reads_the_circuits_of_its_accounts_only(harness: StoreHarness) -> None:
    await open_broken(harness, "b1", "b2")
    await fail(harness, "mastodon@another.example")
    read = await harness.store.forecast_input(harness.clock.later(hours=1), 100)
    assert read.services == {"b1": BROKEN, "b2": BROKEN}
    assert [breaker.service for breaker in read.circuits] == [BROKEN]
