"""`explain` agrees with claims: random small queues on both stores, now and at the time it predicts."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postino.engine.explain import explain
from postino.rules.blackout import Blackout
from postino.rules.blockers import WORKER_BLOCKERS, estimate_start
from postino.rules.explain import BlockerKind, Explanation
from postino.rules.settlement import COMPLETED
from postino.stores.operations import gates
from postino.stores.records import JobFilter, NewJob
from postino.values.gate import GateKind, Scope
from postino.values.job import Queue, State, new_id
from tests.contract.databases import Clock, Database, PostgresDatabase, SqliteDatabase
from tests.contract.harness import ME, StoreHarness
from tests.servers.postgres import PostgresServer

NOON = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
SOON = timedelta(days=2)  # as far as the clock is turned
MOMENT = timedelta(milliseconds=1)
EVERY_JOB = JobFilter(limit=1000)
BRANDS = {"ada": "acme", "bob": "acme", "cyd": None, "dan": "zeta"}
PLACES = [*BRANDS.items(), ("ada", "zeta"), ("cyd", "acme"), (None, "acme"), (None, None)]
CHANNELS = ("bluesky", "mastodon")
MINUTES = st.sampled_from([-30, -10, 0, 10, 45, 90])
SHUT = {
    GateKind.PAUSE: (Scope.ALL, Scope.QUEUE, Scope.CHANNEL, Scope.BRAND, Scope.ACCOUNT),
    GateKind.COOLDOWN: (Scope.CHANNEL, Scope.ACCOUNT),
    GateKind.TOKEN: (Scope.ACCOUNT,),
    GateKind.QUOTA: (Scope.CHANNEL, Scope.ACCOUNT),
}
NAMES = {
    Scope.ALL: [""], Scope.QUEUE: ["high", "default"], Scope.CHANNEL: [*CHANNELS], Scope.BRAND: ["acme", "zeta"],
    Scope.ACCOUNT: [*BRANDS],
}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """A job of the test: its owner, its due time and its state."""

    channel: str
    place: tuple[str | None, str | None]
    queue: Queue
    minutes: int
    became: str  # waiting, running, sent, uncertain, asked (a person), ignore_blackouts


@dataclass(frozen=True)
class Shut:
    scope: Scope
    name: str
    kind: GateKind
    minutes: int | None  # None: until somebody opens it


@dataclass(frozen=True)
class World:
    jobs: list[Plan]
    gates: list[Shut]
    blackouts: list[Blackout]
    breakers: dict[str, tuple[int | None, int]]
    caps: dict[str, int]


@st.composite
def plans(
    draw: st.DrawFn,
    channels: Sequence[str] = CHANNELS,
    places: Sequence[tuple[str | None, str | None]] = PLACES,
    became: Sequence[str] = ("waiting", "waiting", "waiting", "running", "sent", "uncertain", "asked"),
) -> Plan:
    place = draw(st.sampled_from(places))
    pressing = ("ignore_blackouts",) if place[0] is not None else ()
    return Plan(
        draw(st.sampled_from(channels)),
        place,
        draw(st.sampled_from(Queue)),
        draw(MINUTES),
        draw(st.sampled_from([*became, *pressing])),
    )


@st.composite
def make_gates(draw: st.DrawFn) -> Shut:
    kind = draw(st.sampled_from([*SHUT]))
    scope = draw(st.sampled_from(SHUT[kind]))
    return Shut(scope, draw(st.sampled_from(NAMES[scope])), kind, draw(st.sampled_from([-5, 15, 60, 120, None])))


@st.composite
def blackouts(draw: st.DrawFn) -> Blackout:
    scope = draw(st.sampled_from([Scope.ALL, Scope.CHANNEL, Scope.BRAND, Scope.ACCOUNT]))
    hours = st.integers(9, 15)
    return Blackout(
        id=new_id(),
        scope=scope,
        name=draw(st.sampled_from(NAMES[scope])),
        start=time(draw(hours), draw(st.sampled_from([0, 30]))),
        end=time(draw(hours)),
        timezone="UTC",
    )


def worlds() -> st.SearchStrategy[World]:
    open_until = st.tuples(st.sampled_from([-5, 20, 70, None]), st.integers(1, 2))
    shut = st.builds(
        World,
        jobs=st.lists(plans(), min_size=1, max_size=8),
        gates=st.lists(make_gates(), max_size=3),
        blackouts=st.lists(blackouts(), max_size=2),
        breakers=st.dictionaries(st.sampled_from(CHANNELS), open_until, max_size=2),
        caps=st.dictionaries(st.sampled_from(CHANNELS), st.integers(0, 3), max_size=2),
    )
    return st.one_of(shut, fill_channel())


def fill_channel() -> st.SearchStrategy[World]:
    """Generate a capped channel that one brand nearly fills."""
    places = [("ada", "acme"), ("bob", "acme"), (None, "acme"), (None, "acme"), ("dan", "zeta")]
    jobs = plans(CHANNELS[:1], places, ("waiting", "running", "running", "uncertain", "uncertain", "asked"))
    caps = st.fixed_dictionaries({CHANNELS[0]: st.integers(2, 4)})
    return st.builds(World, st.lists(jobs, min_size=3, max_size=8), st.just([]), st.just([]), st.just({}), caps)


def later(minutes: int | None) -> datetime | None:
    return None if minutes is None else NOON + timedelta(minutes=minutes)


async def build(harness: StoreHarness, world: World) -> None:
    """Claim the running jobs while all gates are open, then write the states of the others."""
    await harness.hire("w1")
    await enqueue(harness, [plan for plan in world.jobs if plan.became == "running"])
    await harness.take()
    waiting = [plan for plan in world.jobs if plan.became != "running"]
    for plan, job in zip(waiting, await enqueue(harness, waiting), strict=True):
        at = "'{}'".format(job.run_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))  # as SQLite has it; PostgreSQL takes it too
        became = {
            "waiting": None,
            "sent": "may_be_live = true",
            "uncertain": f"may_be_live = true, state = 'uncertain', lookup_at = {at}",
            "asked": f"may_be_live = true, state = 'uncertain', lookup_at = {at}, run_at = NULL",
            "ignore_blackouts": "ignore_blackouts = true",
        }[plan.became]
        if became:
            harness.database.sql(f"UPDATE {{jobs}} SET {became} WHERE id = '{job.id}'")
    for shut in world.gates:
        operation = gates.close_gate(shut.scope, shut.name, shut.kind, later(shut.minutes))
        await harness.store.driver.transact(operation)
    for blackout in world.blackouts:
        await harness.store.add_blackout(blackout, ME)
    for service, (minutes, probes) in world.breakers.items():
        await harness.store.open_circuit(service, later(minutes), probes, ME)
    for channel, most in world.caps.items():
        await harness.store.set_cap(channel, most, ME)


async def enqueue(harness: StoreHarness, wanted: list[Plan]) -> list[Any]:
    results = [
        NewJob(
            id=new_id(), type="t", channel=plan.channel, queue=plan.queue, payload=b"{}", account=plan.place[0],
            brand=plan.place[1], run_at=None if plan.became == "running" else later(plan.minutes),
        )
        for plan in wanted
    ]  # fmt: skip
    made = [one.job for one in await harness.store.enqueue(results)] if results else []
    for job, plan in zip(made, wanted, strict=True):
        if plan.became != "running":  # asked for in the past, it would be due now: it has waited since
            at = (NOON + timedelta(minutes=plan.minutes)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            harness.database.sql(f"UPDATE {{jobs}} SET run_at = '{at}' WHERE id = '{job.id}'")
    return [await harness.store.job(job.id) for job in made]


async def take_all(harness: StoreHarness) -> set[Any]:
    """Claim until no job is left, with enough slots."""
    taken = set()
    while jobs := await harness.take():
        taken |= {job.id for job in jobs}
        for job in jobs:
            assert await harness.settle(job, COMPLETED)
    return taken


async def check(database: Database, world: World) -> None:
    clock = Clock(NOON)
    store = database.store(clock)
    await store.open()
    try:
        harness = StoreHarness(store, clock, database)
        await build(harness, world)
        jobs = [job for job in await store.jobs(EVERY_JOB) if job.state is not State.RUNNING]
        results = {job.id: await explain(store, job.id) for job in jobs}
        free_at = {job.id: estimate_start((await store.explain_input(job)).facts, NOON) for job in jobs}
        runnable = {job_id for job_id, it in results.items() if it.runnable}
        for job_id, explanation in results.items():
            agrees(explanation, free_at[job_id])
        assert await take_all(harness) == runnable
        await check_etas(harness, {job_id: at for job_id, at in free_at.items() if job_id not in runnable})
    finally:
        await store.close()


def agrees(value: Explanation, free_at: datetime | None) -> None:
    """Check that the parts of an explanation agree."""
    assert value.runnable == all(blocker.kind in WORKER_BLOCKERS for blocker in value.blockers)
    if value.eta is None:
        passing = any(blocker.kind is BlockerKind.CAP and blocker.until_at is None for blocker in value.blockers)
        assert free_at is None or (free_at == NOON and passing)
    else:
        assert value.eta == free_at
        assert value.eta > NOON or value.runnable


async def check_etas(harness: StoreHarness, free_at: dict[Any, datetime | None]) -> None:
    """Check that each job is claimed exactly at its ETA once the running jobs have ended."""
    for job in await harness.store.jobs(EVERY_JOB):
        if job.state is State.RUNNING:
            assert await harness.settle(job, COMPLETED)
    assert await take_all(harness) == {job_id for job_id, at in free_at.items() if at == NOON}
    ahead = sorted({at for at in free_at.values() if at is not None and NOON < at <= NOON + SOON})
    for at in ahead:
        harness.clock.now = at - MOMENT
        assert await take_all(harness) == set(), at
        harness.clock.now = at
        assert await take_all(harness) == {job_id for job_id, due_at in free_at.items() if due_at == at}, at


@pytest.fixture(scope="module")
def postgres(postgres_server: PostgresServer) -> Iterator[PostgresDatabase]:
    database = PostgresDatabase(postgres_server.create_database())
    asyncio.run(database.store().migrate())
    yield database
    database.close()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "postino.db"
    asyncio.run(SqliteDatabase(path).store().migrate())
    return path


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def fresh(request: pytest.FixtureRequest) -> Callable[[], Database]:
    """Return a function that creates an empty database."""
    if request.param == "sqlite":
        template: Path = request.getfixturevalue("template")

        def copy_store() -> Database:
            path = template.with_name(f"{new_id()}.db")
            shutil.copy(template, path)
            return SqliteDatabase(path)

        return copy_store
    postgres: PostgresDatabase = request.getfixturevalue("postgres")

    def clear_store() -> Database:
        postgres.wipe()
        for table in ("circuits", "blackouts", "caps", "brand_turns"):
            postgres.sql(f"DELETE FROM {{{table}}}")
        return postgres

    return clear_store


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(world=worlds())
def test_explained_blockers_are_exactly_those_that_stop_claims(fresh: Callable[[], Database], world: World) -> None:
    asyncio.run(check(fresh(), world))
