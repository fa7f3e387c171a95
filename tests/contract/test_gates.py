"""Pauses and caps: closed scopes are not claimed from, and cost other scopes nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest

from postino.errors import NotFound
from postino.rules.stored_settings import render_settings
from postino.stores.records import AuditContext
from postino.values.event import EventType
from postino.values.gate import Gate, GateKind, Scope
from postino.values.job import Job, Queue
from postino.values.outcome import Defer, Done
from tests.contract.databases import PostgresDatabase, only_postgres
from tests.contract.harness import ME, StoreHarness, ids

BLOCKED_AND_FREE = [
    pytest.param(Scope.QUEUE, "high", {"queue": Queue.HIGH}, {"queue": Queue.LOW}, id="queue"),
    pytest.param(
        Scope.QUEUE, "high", {"queue": Queue.HIGH, "account": "a"}, {"queue": Queue.LOW, "account": "b"},
        id="queue-of-a-lane",
    ),
    pytest.param(Scope.CHANNEL, "x", {"channel": "x"}, {"channel": "y"}, id="channel"),
    pytest.param(
        Scope.CHANNEL, "x", {"channel": "x", "account": "a"}, {"channel": "y", "account": "a"}, id="channel-of-a-lane"
    ),
    pytest.param(Scope.BRAND, "shoes", {"brand": "shoes"}, {"brand": "hats"}, id="brand"),
    pytest.param(
        Scope.BRAND, "shoes", {"brand": "shoes", "account": "a"}, {"brand": "hats", "account": "b"},
        id="brand-of-an-account",
    ),
    pytest.param(Scope.BRAND, "shoes", {"brand": "shoes"}, {}, id="brand-beside-none"),
    pytest.param(Scope.ACCOUNT, "a", {"account": "a"}, {"account": "b"}, id="account"),
    pytest.param(Scope.ACCOUNT, "a", {"account": "a", "brand": "shoes"}, {"brand": "shoes"}, id="account-beside-brand"),
]  # fmt: skip


@pytest.mark.parametrize(("scope", "name", "blocked", "free"), BLOCKED_AND_FREE)
async def test_pause_holds_its_scope_and_nothing_else(
    harness: StoreHarness, scope: Scope, name: str, blocked: dict[str, Any], free: dict[str, Any]
) -> None:
    waiting, passing = await harness.put(**blocked), await harness.put(**free)
    gate = await harness.store.pause(scope, name, ME)
    paused = Gate(scope=scope, name=name, kind=GateKind.PAUSE, since_at=harness.clock(), reason="because")
    assert gate == paused
    assert ids(await harness.take()) == {passing.id}
    harness.clock.turn(hours=1)
    assert await harness.take() == []
    assert await harness.store.resume(scope, name, ME) == paused
    assert await harness.store.gates() == []
    (resumed,) = await harness.take()
    assert resumed.id == waiting.id
    assert resumed.run_at == waiting.run_at


async def test_pause_does_not_stop_running_jobs(harness: StoreHarness, running_job: Job) -> None:
    await harness.store.pause(Scope.CHANNEL, "reports", ME)
    assert await harness.end(running_job, Done())


async def test_pausing_twice_keeps_the_first_time_and_the_last_reason(harness: StoreHarness) -> None:
    first = await harness.store.pause(Scope.BRAND, "shoes", AuditContext("maria", "sale"))
    harness.clock.turn(hours=1)
    second = await harness.store.pause(Scope.BRAND, "shoes", AuditContext("maria", "recall"))
    assert (second.since_at, second.reason) == (first.since_at, "recall")
    assert list(await harness.store.gates()) == [second]


async def test_resume_without_a_pause_is_not_found(harness: StoreHarness) -> None:
    with pytest.raises(NotFound, match="The channel reports is not paused"):
        await harness.store.resume(Scope.CHANNEL, "reports", ME)


async def test_poll_returns_all_gates_except_those_of_accounts(harness: StoreHarness) -> None:
    brand = await harness.store.pause(Scope.BRAND, "shoes", AuditContext("maria", "two words"))
    account = await harness.store.pause(Scope.ACCOUNT, "acme", AuditContext("maria"))
    await harness.store.set_cap("reports", 3, ME)
    known = (await harness.store.poll("w1")).gate_sources
    assert (known.gates, known.caps) == ((brand,), {"reports": 3})
    assert await harness.store.gate_sources() == (known, harness.clock())
    assert list(await harness.store.gates()) == [account, brand]
    assert list(await harness.store.gates_for(Scope.ACCOUNT, "acme")) == [account]
    assert (brand.reason, account.reason) == ("two words", None)


async def test_pause_events_name_scope_and_name(harness: StoreHarness) -> None:
    """Whatever else keeps a gate closed is not opened with it."""
    paused = await harness.store.pause(Scope.ACCOUNT, "acme", ME)
    cooled = await harness.store.start_cooldown(Scope.ACCOUNT, "acme", harness.clock.later(minutes=5), "too many")
    assert set(await harness.store.gates_for(Scope.ACCOUNT, "acme")) == {paused, cooled}
    job = await harness.put(account="acme")
    await harness.store.resume(Scope.ACCOUNT, "acme", ME)
    assert list(await harness.store.gates()) == [cooled]
    assert await harness.take() == []
    harness.clock.turn(minutes=5)
    assert ids(await harness.take()) == {job.id}


async def test_pause_and_resume_write_events_and_audit_entries(harness: StoreHarness) -> None:
    await harness.store.pause(Scope.QUEUE, "low", ME)
    await harness.store.resume(Scope.QUEUE, "low", ME)
    await harness.store.set_cap("reports", 2, ME)
    results = [(event.type, event.data["scope"], event.data["name"]) for event in await harness.events()]
    assert results == [(EventType.PAUSED, "queue", "low"), (EventType.RESUMED, "queue", "low")]
    lines = [(line.action, line.subject, line.actor, line.reason) for line in await harness.store.audit()]
    assert lines == [
        ("gate.capped", "channel:reports", "maria", "because"),
        ("gate.resumed", "queue:low", "maria", "because"),
        ("gate.paused", "queue:low", "maria", "because"),
    ]


@pytest.mark.parametrize(("lane", "most"), [({}, 2), ({"brand": "shoes"}, 3)])  # one slot is not for one brand alone
async def test_a_cap_limits_how_many_run_and_a_settle_makes_room(
    harness: StoreHarness, lane: dict[str, str], most: int
) -> None:
    await harness.put_many(6, **lane)
    assert await harness.store.set_cap("reports", most, ME) == most
    first, second = await harness.take()
    assert await harness.take() == []
    assert await harness.end(first, Done())
    (third,) = await harness.take()
    assert await harness.take() == []
    assert await harness.end(second, Defer(harness.clock.later(hours=1), "later"))
    assert await harness.end(third, Done())
    assert len(await harness.take()) == 2


async def test_a_cap_counts_every_path_and_queue_together(harness: StoreHarness) -> None:
    await harness.put_many(2, queue=Queue.HIGH)
    await harness.put_many(2, account="acme")
    await harness.put_many(2, brand="shoes", queue=Queue.LOW)
    await harness.put_many(2, queue=Queue.LOW)
    await harness.store.set_cap("reports", 3, ME)
    assert len(await harness.take()) == 3
    assert await harness.take() == []


async def test_a_cap_leaves_other_channels_alone(harness: StoreHarness) -> None:
    await harness.put_many(3)
    await harness.put_many(3, channel="exports")
    await harness.store.set_cap("reports", 0, ME)
    assert {job.channel for job in await harness.take()} == {"exports"}


async def test_a_cap_that_is_lifted_lets_all_run(harness: StoreHarness) -> None:
    await harness.put_many(3)
    await harness.store.set_cap("reports", 1, ME)
    assert len(await harness.take()) == 1
    assert await harness.store.set_cap("reports", None, ME) is None
    assert len(await harness.take()) == 2


async def test_cap_of_a_person_overrides_the_default_until_removed(harness: StoreHarness) -> None:
    await harness.store.write_settings(render_settings({"reports": 2, "exports": 1}, []), "test")
    await harness.put_many(9)
    assert len(await harness.take()) == 2
    assert await harness.store.set_cap("reports", 5, ME) == 5
    assert len(await harness.take()) == 3
    await harness.store.write_settings(render_settings({"reports": 7}, []), "test")
    assert (await harness.store.poll("w1")).gate_sources.caps == {"reports": 5}
    assert await harness.take() == []
    assert await harness.store.set_cap("reports", None, ME) == 7
    assert len(await harness.take()) == 2


async def test_cap_of_zero_is_not_the_same_as_no_cap(harness: StoreHarness) -> None:
    await harness.store.write_settings(render_settings({"reports": 2}, []), "test")
    await harness.put_many(3)
    assert await harness.store.set_cap("reports", 0, ME) == 0
    assert await harness.take() == []


async def test_unchanged_default_caps_wait_for_no_lock(harness: StoreHarness) -> None:
    await harness.store.write_settings(render_settings({"reports": 2, "exports": 1}, []), "test")
    stores = [await harness.open_another_store() for _ in range(3)]
    await asyncio.gather(
        *(store.write_settings(render_settings({"exports": 1, "reports": 2}, []), "test") for store in stores)
    )
    assert (await harness.store.poll("w1")).gate_sources.caps == {"reports": 2, "exports": 1}


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("path", ["bulk", "lanes"])
async def test_concurrent_claimers_never_exceed_a_cap(harness: StoreHarness, path: str, most: int) -> None:
    await harness.store.set_cap("reports", most, ME)
    for number in range(12):
        await harness.put(account=f"acme{number}" if path == "lanes" else None)
    stores = [harness.store, await harness.open_another_store(), await harness.open_another_store()]
    done = 0
    while done < 12:
        claims = await asyncio.gather(*(harness.take(store=stores[turn % 3]) for turn in range(9)))
        claimed = [job for claim in claims for job in claim]
        assert 1 <= len(claimed) <= most
        for job in claimed:
            assert await harness.end(job, Done())
        done += len(claimed)


@only_postgres
async def test_worker_frozen_while_it_locks_a_cap_blocks_no_other_channel(
    harness: StoreHarness, database: PostgresDatabase
) -> None:
    await harness.store.set_cap("capped", 5, ME)
    await harness.put(channel="capped")
    other = await harness.put(channel="other")
    frozen = await asyncpg.connect(database.url)
    async with frozen.transaction():
        await frozen.execute("SELECT FROM postino.caps WHERE channel = 'capped' FOR UPDATE")
        assert ids(await harness.take()) == {other.id}
    await frozen.close()
    assert len(await harness.take()) == 1


async def test_claim_uses_current_gates_not_those_of_the_poll(harness: StoreHarness) -> None:
    await harness.put_many(3, channel="capped")
    await harness.put_many(3, channel="paused")
    result = await harness.order()
    await harness.store.set_cap("capped", 1, ME)
    await harness.store.pause(Scope.CHANNEL, "paused", ME)
    assert await harness.store.claim(result) == []
    assert [job.channel for job in await harness.take()] == ["capped"]
