"""Claims take exactly what the rules allow, in random small worlds with gates of every kind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postino.rules import settlement
from postino.rules.blackout import Blackout
from postino.rules.gates import GateSources, compute_caps, is_blocking, list_closed_gates, to_gate
from postino.rules.retry import RetryPolicy
from postino.stores.operations import gates
from postino.stores.records import AuditContext, ClaimRequest, JobFilter, NewJob, SettledJob, WorkerInfo
from postino.stores.store import Store
from postino.values.gate import Gate, GateKind, Scope
from postino.values.job import Job, Queue, State
from postino.values.ledger import NewIntent, ReceiptEntry, ReceiptSource, Verdict
from postino.values.outcome import Defer
from postino.values.post import StoredAccount
from postino.values.provider import Receipt
from tests.simulation.stores import Clock, StoresUnderTest, open_stores

WORLDS = int(os.environ.get("POSTINO_SIMULATION_LIVES", "0")) or 60
ACT = AuditContext("somebody", "felt like it")
CHANNELS, BRANDS, ACCOUNTS = ("film", "foto"), ("rosso", "verde"), ("anna", "bruno", "carla")
OWNERS = (
    (None, None), ("anna", "rosso"), ("anna", "verde"), ("bruno", None), ("bruno", "rosso"), ("carla", "verde"),
    (None, "rosso"), (None, "verde"),
)  # fmt: skip
NAMES = {
    Scope.ALL: ("",), Scope.QUEUE: tuple(queue.label for queue in Queue), Scope.CHANNEL: CHANNELS,
    Scope.BRAND: BRANDS, Scope.ACCOUNT: ACCOUNTS, Scope.SERVICE: ("film@one.example", "film@two.example"),
}  # fmt: skip
SERVICES = {"anna": "film@one.example", "bruno": "film@one.example", "carla": "film@two.example"}
SCOPES = {
    GateKind.PAUSE: (Scope.ALL, Scope.QUEUE, Scope.CHANNEL, Scope.BRAND, Scope.ACCOUNT),
    GateKind.TOKEN: (Scope.ACCOUNT,),
    GateKind.BLACKOUT: (Scope.ALL, Scope.CHANNEL, Scope.BRAND, Scope.ACCOUNT),
    GateKind.BREAKER: (Scope.CHANNEL, Scope.SERVICE),
    GateKind.COOLDOWN: (Scope.CHANNEL, Scope.ACCOUNT),
    GateKind.QUOTA: (Scope.CHANNEL, Scope.ACCOUNT),
}
PLACES = [(kind, scope, name) for kind, scopes in SCOPES.items() for scope in scopes for name in NAMES[scope]]

minutes = st.integers(1, 3)
jobs = st.tuples(st.sampled_from(CHANNELS), st.sampled_from(OWNERS), st.sampled_from(Queue), st.integers(-1, 3))
steps = st.one_of(
    st.tuples(st.just("put"), jobs),
    st.tuples(st.just("put"), jobs),
    st.tuples(st.just("begin"), jobs),
    st.tuples(st.just("close"), st.sampled_from(PLACES), minutes),
    st.tuples(st.just("close"), st.sampled_from(PLACES), minutes),
    st.tuples(st.just("open"), st.integers(0, 9)),
    st.tuples(st.just("cap"), st.sampled_from(CHANNELS), st.sampled_from((None, 0, 1, 2, 3))),
    st.tuples(st.just("wait"), st.sampled_from((1, 59, 60, 61, 120))),
    st.tuples(st.just("until"), st.sampled_from((0, 1))),
    st.tuples(st.just("touch"), st.sampled_from((0, 1, 3))),
)


class SmallWorld:
    """Does each step on all stores, then compares the claims with the rules."""

    def __init__(self, world: StoresUnderTest) -> None:
        self.world = world
        self.clock = world.clock
        self.clock.now = self.clock.started_at.replace(second=0, microsecond=0)
        self.numbers = count(1)
        world.on_all(lambda side: side.empty())
        world.agree(lambda store: store.register_worker(WorkerInfo(id="w", host="here", pid=1)))
        for name, service in SERVICES.items():
            self.add_account(name, *service.split("@"))

    def add_account(self, name: str, network: str, host: str) -> None:
        account = StoredAccount(id=name, network=network, handle=name, base_url=f"https://{host}", sealed=b"")
        self.world.agree(lambda store: store.save_account(account))

    def new_id(self) -> UUID:
        return UUID(int=0x01900000_0000_7000_8000_000000000000 + next(self.numbers))

    def tick(self) -> None:
        """Advance the clock: equal times would leave the choice to each store.

        And a whole millisecond, since SQLite adds to those only.
        """
        now = self.clock.now
        self.clock.now = now.replace(microsecond=now.microsecond // 1000 * 1000) + timedelta(milliseconds=1)

    # Steps

    def put(self, job: tuple[str, tuple[str | None, str | None], Queue, int]) -> UUID:
        self.tick()
        channel, (account, brand), queue, later = job
        run_at = self.clock.now + timedelta(minutes=later)
        new = NewJob(
            id=self.new_id(), type="sim", channel=channel, queue=queue, payload=b"{}", account=account, brand=brand,
            run_at=run_at,
        )  # fmt: skip
        self.world.agree(lambda store: store.enqueue([new]))
        return new.id

    def begin(self, job: tuple[str, tuple[str | None, str | None], Queue, int]) -> None:
        """Start a job that has sent something, if it can be claimed now, and defer it."""
        job_id = self.put((*job[:3], 0))
        taken = self.claim(100)
        for mine in taken:
            later = self.clock.now + timedelta(minutes=max(job[3], 0), microseconds=next(self.numbers))
            if mine.id == job_id:
                self.send(mine)
                self.settle(replace(mine, may_be_live=True), Defer(later, "not ready"))
            else:
                self.settle(mine, Defer(later, "not yet"))

    def send(self, job: Job) -> None:
        assert job.token is not None
        intent = NewIntent(
            job_id=job.id, token=job.token, step="post", position=0, number=1, send_within=1, lookup_delay=1
        )
        self.world.agree(lambda store: store.record_intents([intent]))
        receipt = Receipt(remote_id=str(job.id))
        entry = ReceiptEntry(
            step="post", number=1, verdict=Verdict.ACCEPTED, source=ReceiptSource.CALL, receipt=receipt
        )
        self.world.agree(lambda store: store.record_receipt(job.id, entry))

    def settle(self, job: Job, outcome: Defer) -> None:
        self.tick()
        ending = SettledJob(job, settlement.settle_job(job, outcome, RetryPolicy(), self.clock.now, 0.0))
        assert self.world.agree(lambda store: store.settle([ending])) == {job.id}

    def close(self, place: tuple[GateKind, Scope, str], lasting: int) -> None:
        self.tick()
        kind, scope, name = place
        until_at = self.clock.now + timedelta(minutes=lasting)
        match kind:
            case GateKind.PAUSE:
                self.world.agree(lambda store: store.pause(scope, name, ACT))
            case GateKind.BREAKER if scope is Scope.SERVICE:  # for good: what probes may do is tested elsewhere
                self.world.agree(lambda store: store.open_circuit(name, None, lasting, ACT))
            case GateKind.BREAKER:
                self.world.agree(lambda store: store.open_circuit(name, until_at, lasting, ACT))
            case GateKind.COOLDOWN:
                self.world.agree(lambda store: store.start_cooldown(scope, name, until_at, "too many"))
            case GateKind.BLACKOUT:
                start = (self.clock.now + timedelta(minutes=lasting - 2)).time().replace(second=0, microsecond=0)
                end = (self.clock.now + timedelta(minutes=lasting)).time().replace(second=0, microsecond=0)
                window = Blackout(id=self.new_id(), scope=scope, name=name, start=start, end=end, timezone="UTC")
                self.world.agree(lambda store: store.add_blackout(window, ACT))
            case _:
                self.world.agree(
                    lambda store: store.driver.transact(gates.close_gate(scope, name, kind, until_at, "why"))
                )

    def open(self, pick: int) -> None:
        self.tick()
        known, now = self.read_sources()
        closed = [gate for gate in known.gates if gate.until_at is None or gate.until_at > now]
        services = [gate.name for gate in closed if gate.scope is Scope.SERVICE]
        if windows := known.blackouts:
            window = sorted(windows, key=lambda window: window.id)[pick % len(windows)]
            self.world.agree(lambda store: store.remove_blackout(window.id, ACT))
        elif known.breakers:
            self.world.agree(lambda store: store.close_circuit(known.breakers[0].service, ACT))
        elif services:
            self.world.agree(lambda store: store.close_circuit(services[pick % len(services)], ACT))
        elif closed:
            gate = sorted(closed, key=str)[pick % len(closed)]
            self.world.agree(lambda store: store.driver.transact(gates.open_gate(gate.scope, gate.name, gate.kind)))

    def cap(self, channel: str, most: int | None) -> None:
        self.tick()
        self.world.agree(lambda store: store.set_cap(channel, most, ACT))

    def wait(self, seconds: int) -> None:
        self.clock.now += timedelta(seconds=seconds)

    def until(self, instants: int) -> None:
        """Advance the clock to the instant at which the next gate opens, or just before it."""
        known, now = self.read_sources()
        ends = [gate.until_at for gate in list_closed_gates(known, now) if gate.until_at is not None]
        if ends:
            self.clock.now = max(now, min(ends) - timedelta(microseconds=instants))

    def touch(self, free: int) -> None:
        """Claim some jobs and release them."""
        for job in self.claim(free):
            self.settle(job, Defer(self.clock.now, "not yet"))

    def claim(self, free: int) -> list[Job]:
        self.tick()
        token = self.new_id()

        async def act(store: Store) -> list[Job]:
            poll = await store.poll("w")
            return await store.claim(ClaimRequest(worker="w", token=token, free=free, poll=poll))

        return self.world.agree(act, lambda jobs: sorted(jobs, key=lambda job: job.id))

    # What the rules say

    def read_sources(self) -> tuple[GateSources, datetime]:
        """Return all gate sources, including those of accounts and services, and the time."""
        known, now = self.world.agree(lambda store: store.gate_sources(), sort_sources)
        stored = self.world.agree(lambda store: store.gates(), lambda claimed: sorted(claimed, key=str))
        accounts = tuple(gate for gate in stored if gate.scope is Scope.ACCOUNT)
        circuits = self.world.agree(lambda store: store.service_circuits())
        return replace(known, gates=known.gates + accounts + tuple(map(to_gate, circuits))), now

    def check(self) -> None:
        known, now = self.read_sources()
        closed = list_closed_gates(known, now)
        every = self.world.agree(lambda store: store.jobs(JobFilter(limit=1000, states=(State.PENDING,))))
        due = [job for job in every if job.run_at is not None and job.run_at <= now]
        free = [job for job in due if not any(is_blocking(gate, job) and is_at_service(gate, job) for gate in closed)]
        caps = compute_caps(known, now)
        for side, claimed in zip(
            self.world.sides, self.world.on_all(lambda side: side.list_all_claimable()), strict=True
        ):
            description = f"{side.name} at {now} with {closed} gives {claimed} where {free} may run"
            got = {job.id for job in claimed}
            assert got <= {job.id for job in free}, description
            assert len(got) == len(claimed), description
            for job in claimed:
                assert can_join(job, [other for other in claimed if other.id != job.id], caps), description
            left = [job for job in free if job.id not in got]
            assert not any(can_join(job, claimed, caps, counts_started=True) for job in left), description
        for unreachable in self.world.on_all(lambda side: side.store.unreachable_jobs()):
            assert unreachable == []


def sort_sources(result: tuple[GateSources, datetime]) -> tuple[GateSources, datetime]:
    known, now = result
    listed = sorted(known.blackouts, key=lambda blackout: blackout.id)
    return replace(known, gates=tuple(sorted(known.gates, key=str)), blackouts=tuple(listed)), now


def can_join(job: Job, others: list[Job], caps: dict[str, int], *, counts_started: bool = False) -> bool:
    """Return whether a job can run beside these: its lane, its brand's share and its channel have room.

    Claims take started jobs whatever the share of their brand, and count them when they take others.
    """
    beside = [other for other in others if other.channel == job.channel]
    most = caps.get(job.channel, len(others) + 1)
    mine = [other for other in beside if other.brand == job.brand and (counts_started or not is_started(other))]
    whole = is_started(job) or job.brand is None or job.channel not in caps or len(mine) < max(1, most - 1)
    lane_is_free = job.account is None or all(other.lane != job.lane for other in beside)
    return lane_is_free and whole and len(beside) < most


def is_at_service(gate: Gate, job: Job) -> bool:
    """Return whether a gate is not that of another service than the job's own."""
    return gate.scope is not Scope.SERVICE or gate.name == SERVICES[job.account or ""]


def is_started(job: Job) -> bool:
    return job.may_be_live and job.lane is not None


@pytest.fixture(scope="module")
def path() -> Iterator[Path]:
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder) / "gates.db"


@pytest.fixture(scope="module", params=["sqlite", pytest.param("both", marks=[pytest.mark.postgres, pytest.mark.slow])])
def world(request: pytest.FixtureRequest, path: Path) -> Iterator[StoresUnderTest]:
    url = request.getfixturevalue("postgres_server").create_database() if request.param == "both" else None
    with open_stores(Clock(), path.with_suffix(f".{request.param}"), url) as world:
        yield world


@pytest.mark.timeout(600)
@settings(max_examples=WORLDS, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(done=st.lists(steps, min_size=3, max_size=14))
def test_claims_take_exactly_what_the_rules_allow(world: StoresUnderTest, done: list[Any]) -> None:
    small = SmallWorld(world)
    for name, *arguments in done:
        getattr(small, name)(*arguments)
        small.check()
