"""Many tasks on two PostgreSQL stores: nothing lost, nothing run twice, no lane or cap exceeded."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

import pytest

from postino.errors import Conflict
from postino.rules import settlement
from postino.rules.retry import RetryPolicy, Schedule
from postino.stores.postgres import Postgres
from postino.stores.records import AuditContext, ClaimRequest, JobFilter, NewJob, SettledJob, WorkerInfo
from postino.stores.store import Store
from postino.values.event import Cursor, EventType
from postino.values.job import Job, Queue, State, new_id
from postino.values.outcome import Defer, Done, Outcome, Retry

TASKS = 6
TURNS = 150
CAPS = {"capped": 3, "narrow": 1}
CHANNELS = ("free", *CAPS)
OWNERS = ((None, None), ("anna", "rosso"), ("bruno", None), ("carla", "rosso"), (None, "rosso"), (None, "verde"))
POLICY = RetryPolicy(max_attempts=1000, backoff=Schedule([0]))


@dataclass
class ActionLog:
    """What the tasks did, recorded outside the stores."""

    put: set[UUID] = field(default_factory=set)
    done: Counter[UUID] = field(default_factory=Counter)
    cancelled: set[UUID] = field(default_factory=set)
    taken: Counter[tuple[UUID, UUID | None]] = field(default_factory=Counter)

    def record_claims(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            self.taken[job.id, job.token] += 1
            assert self.taken[job.id, job.token] == 1, f"claimed twice: {job}"


@pytest.fixture
async def stores(postgres_url: str) -> AsyncIterator[tuple[Store, Store]]:
    pair = Store(Postgres(postgres_url)), Store(Postgres(postgres_url))
    await pair[0].migrate()
    for store in pair:
        await store.open()
    yield pair
    for store in pair:
        await store.close()


@pytest.mark.postgres
async def test_concurrent_workers_lose_nothing_and_run_nothing_twice(
    stores: tuple[Store, Store], request: pytest.FixtureRequest
) -> None:
    given = request.config.getoption("--hypothesis-seed")
    seed = int(given) if given not in (None, "random") else random.getrandbits(32)
    print(f"--hypothesis-seed={seed} makes the same choices again, though not the same interleaving")
    for channel, most in CAPS.items():
        await stores[0].set_cap(channel, most, AuditContext("test"))
    log = ActionLog()
    over = asyncio.Event()
    watcher = asyncio.create_task(watch(stores[1], over))
    async with asyncio.TaskGroup() as group:
        for number in range(TASKS):
            group.create_task(busy_worker(stores[number % 2], f"w{number}", random.Random(seed + number), log))
    over.set()
    assert await watcher > 10, "nobody looked"
    await drain(stores[0], log)
    await check(stores[1], log)


async def busy_worker(store: Store, name: str, chance: random.Random, log: ActionLog) -> None:
    """Do random actions; sometimes die and return under another name."""
    life = 0
    held: list[Job] = []
    await store.register_worker(WorkerInfo(id=f"{name}-{life}", host="here", pid=1))
    for _ in range(TURNS):
        match chance.choice(("enqueue", "claim", "claim", "settle", "settle", "die", "rescue", "cancel")):
            case "enqueue":
                await put(store, chance, log)
            case "claim":
                held += await claim(store, f"{name}-{life}", chance.choice((1, 3, 20)), log)
            case "settle":
                some, held = held[:5], held[5:]
                await settle(store, [(job, outcome(chance)) for job in some], log)
            case "die" if chance.random() < 0.3:
                await store.unregister_worker(f"{name}-{life}")
                life += 1
                await store.register_worker(WorkerInfo(id=f"{name}-{life}", host="here", pid=1))
                if chance.random() < 0.5:
                    held = []
                # else it goes on with what it held, and is refused where a rescuer came first
            case "rescue":
                await store.rescue({}, lambda job, now, is_suspect: settlement.release_job(job, now))
            case "cancel" if log.put:
                await cancel(store, chance.choice(sorted(log.put)), log)
    await settle(store, [(job, Done()) for job in held], log)


def outcome(chance: random.Random) -> Outcome:
    return chance.choice((Done(), Done(), Retry("again"), Defer(datetime.now(UTC), "not yet")))


async def put(store: Store, chance: random.Random, log: ActionLog) -> None:
    jobs = []
    for _ in range(chance.randint(1, 8)):
        account, brand = chance.choice(OWNERS)
        jobs.append(
            NewJob(
                id=new_id(),
                type="sim",
                channel=chance.choice(CHANNELS),
                queue=chance.choice(list(Queue)),
                payload=b"{}",
                key=str(chance.randrange(400)) if chance.random() < 0.3 else None,
                account=account,
                brand=brand,
            )
        )
    log.put |= {answer.job.id for answer in await store.enqueue(jobs)}


async def claim(store: Store, worker: str, free: int, log: ActionLog) -> list[Job]:
    poll = await store.poll(worker, heartbeat=True)
    order = ClaimRequest(worker=worker, token=new_id(), free=free, poll=poll)
    jobs = await store.claim(order)
    assert len(jobs) <= free
    log.record_claims(jobs)
    return jobs


async def settle(store: Store, outcomes: Sequence[tuple[Job, Outcome]], log: ActionLog) -> None:
    now = datetime.now(UTC)
    # A worker may hold a job twice, once by a claim it lost; the result names jobs, so only the last is told.
    last = {job.id: (job, outcome) for job, outcome in outcomes}.values()
    endings = [SettledJob(job, settlement.settle_job(job, outcome, POLICY, now, 0)) for job, outcome in last]
    written = await store.settle(endings)
    log.done.update(e.job.id for e in endings if e.job.id in written and e.settlement.state is State.COMPLETED)


async def cancel(store: Store, job_id: UUID, log: ActionLog) -> None:
    with contextlib.suppress(Conflict):
        await store.cancel_job(job_id, AuditContext("test"))
        log.cancelled.add(job_id)


async def watch(store: Store, over: asyncio.Event) -> int:
    """Check consistent snapshots of the running jobs; return their number."""
    looks = 0
    while not over.is_set():
        running = await store.jobs(JobFilter(states=(State.RUNNING,), limit=10_000))
        lanes = Counter((job.channel, job.account) for job in running if job.account is not None)
        assert all(count == 1 for count in lanes.values()), f"two at once: {lanes}"
        load = Counter(job.channel for job in running)
        assert all(load[channel] <= most for channel, most in CAPS.items()), f"over the cap: {load}"
        looks += 1
        await asyncio.sleep(0.005)
    return looks


async def drain(store: Store, log: ActionLog) -> None:
    """Complete all remaining jobs with one worker, until three claims in a row are empty."""
    await store.rescue({}, lambda job, now, is_suspect: settlement.release_job(job, now))
    await store.register_worker(WorkerInfo(id="last", host="here", pid=1))
    empty = 0
    while empty < 3:
        jobs = await claim(store, "last", 50, log)
        await settle(store, [(job, Done()) for job in jobs], log)
        empty = 0 if jobs else empty + 1


async def check(store: Store, log: ActionLog) -> None:
    jobs = await store.jobs(JobFilter(limit=100_000))
    assert {job.id for job in jobs} == log.put
    assert len(jobs) == len(log.put)
    left = [job for job in jobs if not job.state.is_final]
    assert not left, f"lost on the way: {left}"
    assert {job.id for job in jobs if job.state is State.CANCELLED} == log.cancelled
    assert log.done == dict.fromkeys(log.put - log.cancelled, 1)
    events = Counter(event.type for event in await store.events(Cursor(), 100_000))
    assert events[EventType.COMPLETED] == len(log.done)
    assert events[EventType.CANCELLED] == len(log.cancelled)
