"""Gates that open or close during a claim: no lane is forgotten, and none is claimed through a closed gate."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import time
from typing import Any, TypeVar
from uuid import uuid4

import psycopg
import pytest

from postino.rules.blackout import Blackout
from postino.rules.circuit_breaker import BreakerPolicy
from postino.stores.driver import drive
from postino.stores.operations import blackouts, claims, gates
from postino.stores.postgres import Postgres
from postino.stores.statement import Operation
from postino.values.gate import Scope
from postino.values.job import Job
from tests.contract.databases import PostgresDatabase, only_postgres
from tests.contract.harness import ME, StoreHarness, ids

T = TypeVar("T")
ROUND_THE_CLOCK = Blackout(id=uuid4(), scope=Scope.BRAND, name="shoes", start=time(0), end=time(0), timezone="UTC")


def interrupt(operation: Operation[T], before: int, act: Callable[[], object]) -> Operation[T]:
    """Run an action just before this statement of an operation."""
    query, number = next(operation), 0
    while True:
        if number == before:
            act()
        answer = yield query
        try:
            query, number = operation.send(answer), number + 1
        except StopIteration as end:
            result: T = end.value
            return result


@pytest.fixture
def elsewhere(harness: StoreHarness, database: PostgresDatabase) -> Iterator[Callable[[Operation[Any]], None]]:
    """Another process: what it does is committed at once."""
    driver = harness.store.driver
    assert isinstance(driver, Postgres)
    with psycopg.connect(database.url) as connection:

        def act(operation: Operation[Any]) -> None:
            drive(operation, lambda query: driver.execute_with_psycopg(connection, query))
            connection.commit()

        yield act


OPENED = [
    pytest.param(
        lambda: gates.pause_scope(Scope.BRAND, "shoes", ME), lambda: gates.resume_scope(Scope.BRAND, "shoes", ME),
        id="pause-brand",
    ),
    pytest.param(
        lambda: gates.pause_scope(Scope.ACCOUNT, "acme", ME), lambda: gates.resume_scope(Scope.ACCOUNT, "acme", ME),
        id="pause-account",
    ),
    pytest.param(
        lambda: blackouts.add_blackout(ROUND_THE_CLOCK, ME), lambda: blackouts.remove_blackout(ROUND_THE_CLOCK.id, ME),
        id="blackout",
    ),
]  # fmt: skip


@only_postgres
@pytest.mark.parametrize("before", range(9))
@pytest.mark.parametrize(("shut", "unshut"), OPENED)
async def test_gate_opened_during_a_claim_is_open_for_the_next(
    harness: StoreHarness,
    elsewhere: Callable[[Operation[Any]], None],
    shut: Callable[[], Operation[Any]],
    unshut: Callable[[], Operation[Any]],
    before: int,
    database: PostgresDatabase,
) -> None:
    job = await harness.put(account="acme", brand="shoes")
    assert await harness.take(0) == []
    elsewhere(shut())
    order = await harness.order()
    with ThreadPoolExecutor() as pool:
        opening: list[Future[None]] = []

        def begin() -> None:
            opening.append(pool.submit(elsewhere, unshut()))
            until_done_or_waiting(opening[0], database)

        operation = interrupt(claims.claim(order), before, begin)
        taken: list[Job] = await harness.store.driver.transact(operation)
        for each in opening or [pool.submit(elsewhere, unshut())]:
            each.result(timeout=10)
    assert ids([*taken, *await harness.take()]) == {job.id}


@only_postgres
async def test_job_enqueued_while_its_gate_opens_is_claimed(harness: StoreHarness, database: PostgresDatabase) -> None:
    """The lane is new: the transaction that opens the gate cannot see it during the claim."""
    await harness.store.pause(Scope.BRAND, "shoes", ME)
    job = await harness.put(account="acme", brand="shoes")
    with psycopg.connect(database.url) as claiming:
        driver = harness.store.driver
        assert isinstance(driver, Postgres)
        order = await harness.order(free=0)
        drive(claims.claim(order), lambda query: driver.execute_with_psycopg(claiming, query))
        with ThreadPoolExecutor() as pool:
            resumed = pool.submit(resume, database.url, driver)
            until_done_or_waiting(resumed, database)
            assert not resumed.done(), "it waits for the lane to be seen"
            claiming.commit()
            resumed.result(timeout=10)
    assert ids(await harness.take()) == {job.id}


def resume(url: str, driver: Postgres) -> None:
    with psycopg.connect(url) as connection:
        drive(
            gates.resume_scope(Scope.BRAND, "shoes", ME), lambda query: driver.execute_with_psycopg(connection, query)
        )


def until_done_or_waiting(work: Future[None], database: PostgresDatabase) -> None:
    while not work.done() and database.sql("SELECT count(*) FROM pg_locks WHERE NOT granted") == [(0,)]:
        wait([work], timeout=0.01)


@only_postgres
@pytest.mark.parametrize("before", range(9))
@pytest.mark.parametrize(("shut", "unshut"), OPENED)
async def test_gate_closed_during_a_claim_holds_the_next_claim(
    harness: StoreHarness,
    elsewhere: Callable[[Operation[Any]], None],
    shut: Callable[[], Operation[Any]],
    unshut: Callable[[], Operation[Any]],
    before: int,
) -> None:
    job = await harness.put(account="acme", brand="shoes")
    order = await harness.order(free=0)
    await harness.store.driver.transact(interrupt(claims.claim(order), before, lambda: elsewhere(shut())))
    closed = harness.database.sql("SELECT count(*) FROM {gates}") != [(0,)] or await harness.store.blackouts() != []
    assert ids(await harness.take()) == (set() if closed else {job.id})
    if closed:
        elsewhere(unshut())
        assert ids(await harness.take()) == {job.id}


@only_postgres
@pytest.mark.parametrize("statement", ["insert_hinted_lanes", "record_brand_turns", "half_open_circuits"])
async def test_worker_frozen_after_a_write_of_its_claim_stops_no_other_claim(
    harness: StoreHarness, database: PostgresDatabase, statement: str
) -> None:
    driver = harness.store.driver
    assert isinstance(driver, Postgres)
    is_down = statement == "half_open_circuits"
    first = await harness.put(account="acme", brand="shoes")
    if is_down:
        assert await harness.take(0) == []  # the lane is known
        breaker = await harness.store.record_response("reports", False, BreakerPolicy(failure_threshold=1), "down")
        assert breaker.until_at is not None
        harness.clock.now = breaker.until_at
    with psycopg.connect(database.url) as frozen:
        claim = claims.claim(await harness.order())
        query = next(claim)
        while query.name != statement:
            query = claim.send(driver.execute_with_psycopg(frozen, query) if query.rows != [] else [])
        _ = driver.execute_with_psycopg(frozen, query)
        other = await harness.put(account="bolt", brand="shoes", channel="exports" if is_down else "reports")
        async with asyncio.timeout(driver.statement_seconds / 2):
            assert ids(await harness.take()) == {other.id}
        frozen.rollback()  # as if the server ended the frozen worker's session
    assert ids(await harness.take()) == {first.id}
