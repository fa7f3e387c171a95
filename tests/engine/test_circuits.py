"""Circuits: responses of jobs' calls count, and an open circuit stops further calls."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from postino import Done, Job, Outcome, Postino, Retry, State, clock
from postino.config import ChannelConfig
from postino.engine.call import Call
from postino.engine.circuit_monitor import MAX_WATCHED, CircuitMonitor
from postino.engine.service_guard import ServiceGuard
from postino.errors import CircuitOpen
from postino.rules.circuit_breaker import Breaker, BreakerPolicy, CircuitState
from postino.rules.gates import GateSources
from postino.stores.records import AuditContext
from postino.values.event import Cursor, EventType
from postino.values.gate import Scope
from postino.values.ledger import CallPolicy
from tests.engine.conftest import run_worker, wait_for, wait_for_end
from tests.outbound.raw_server import Behaviour, RawServer, Visit

TRIPS = {"failure_threshold": 3, "window": 60, "open_timeout": 0.4, "max_open_timeout": 0.4}


@asynccontextmanager
async def register_failing(app: Postino, channel: str = "shop", **settings: Any) -> AsyncIterator[Postino]:
    """Open the same database with a circuit for this channel."""
    again = ChannelConfig(retry_backoff={"base": 0, "factor": 1, "max": 0}, max_attempts=50, circuit=TRIPS | settings)
    async with Postino(replace(app.config, channels={channel: again})) as other:
        yield other


async def read_state(app: Postino, service: str = "shop") -> CircuitState:
    return await app.breaker.get_state(service)


async def get_events(app: Postino) -> list[str]:
    events = await app.store.events(Cursor(), 1000)
    return [event.type for event in events if event.type.startswith("circuit.")]


async def test_failing_service_opens_its_circuit_and_is_probed_once(app: Postino) -> None:
    async with register_failing(app) as shop:
        well, runs = False, 0

        @shop.handler("order")
        async def order(job: Job) -> Outcome:
            nonlocal runs
            runs += 1
            return Done() if well else Retry("The shop is closed.")

        jobs = [await shop.enqueue("order", channel="shop") for _ in range(10)]
        async with run_worker(shop, concurrency=1):
            await wait_for(lambda: is_open(shop))
            ran = runs
            assert ran == 3
            held = await shop.store.job(jobs[-1].id)
            assert (held.state, held.attempts) == (State.PENDING, 0), "what is held spends no attempt"
            well = True
            for job in jobs:
                assert (await wait_for_end(shop, job)).state is State.COMPLETED
        assert await read_state(shop) is CircuitState.CLOSED
        events = await get_events(shop)
        assert events[:2] == [EventType.CIRCUIT_OPENED, EventType.CIRCUIT_HALF_OPENED]
        assert events[-1] == EventType.CIRCUIT_CLOSED


async def is_open(app: Postino) -> bool:
    results = [breaker for breaker in await app.store.circuits() if breaker.state is CircuitState.OPEN]
    return bool(results)


async def test_open_circuit_does_not_affect_other_services(app: Postino) -> None:
    async with register_failing(app, open_timeout=60, max_open_timeout=60) as shop:

        @shop.handler("order")
        async def order(job: Job) -> Outcome:
            return Done() if job.channel == "market" else Retry("The shop is closed.")

        for _ in range(10):
            await shop.enqueue("order", channel="shop")
        async with run_worker(shop):
            await wait_for(lambda: is_open(shop))
            other = await shop.enqueue("order", channel="market")
            assert (await wait_for_end(shop, other)).state is State.COMPLETED
        assert await read_state(shop) is CircuitState.OPEN


@pytest.mark.parametrize(("status", "opens"), [(500, True), (503, True), (404, False), (429, False), (200, False)])
async def test_failures_count_and_rate_limits_and_refusals_do_not(app: Postino, status: int, opens: bool) -> None:
    calls = 0

    async def answer(visit: Visit) -> None:
        nonlocal calls
        while True:
            await visit.request()
            calls += 1
            await visit.answer(status)

    async with register_failing(app, open_timeout=60, max_open_timeout=60) as shop, RawServer(answer) as server:

        @shop.handler("order")
        async def order(job: Job, payload: Any, call: Call) -> Outcome:
            await call.http.request("GET", server.url)
            return Done()

        jobs = [await shop.enqueue("order", channel="shop") for _ in range(6)]
        async with run_worker(shop, concurrency=1):
            if opens:
                await wait_for(lambda: is_open(shop))
            else:
                for job in jobs:
                    await wait_for_end(shop, job)
        assert await is_open(shop) is opens
        assert calls == (3 if opens else 6)


async def take_part_of(visit: Visit) -> None:
    await visit.reader.read(1000)


async def take_no_more(visit: Visit) -> None:
    await take_part_of(visit)
    await asyncio.Event().wait()


async def reset_during_upload(visit: Visit) -> None:
    await take_part_of(visit)
    visit.reset()


async def refuse_during_upload(visit: Visit) -> None:
    await take_part_of(visit)
    await visit.say(b"HTTP/1.1 413 Too Large\r\nContent-Length: 20\r\n\r\n<h")
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("behave", "opens"), [(take_no_more, True), (reset_during_upload, True), (refuse_during_upload, False)]
)
async def test_network_that_takes_no_data_counts_and_one_that_refuses_it_does_not(
    app: Postino, behave: Behaviour, opens: bool
) -> None:
    async with (
        register_failing(app, open_timeout=60, max_open_timeout=60) as shop,
        RawServer(behave, receive_buffer=16_384) as server,
    ):

        @shop.handler("upload", max_attempts=6)
        async def upload(job: Job, payload: Any, call: Call) -> Outcome:
            film = call.with_policy(CallPolicy(timeout=timedelta(seconds=0.3))).http
            await film.request("POST", server.url, body=b"x" * 10_000_000)
            return Done()

        film = await shop.enqueue("upload", channel="shop", max_attempts=6)
        async with run_worker(shop, concurrency=1):
            if opens:
                await wait_for(lambda: is_open(shop))
            else:
                assert (await wait_for_end(shop, film)).attempts == 6
        assert await is_open(shop) is opens
        assert server.connections == (3 if opens else 6)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "http://[::1", "http://nowhere.test:99999999/"])
async def test_address_that_postino_does_not_call_is_no_failure_of_the_service(app: Postino, url: str) -> None:
    """A person entered it, and it must not close the service for others."""
    async with register_failing(app, open_timeout=60, max_open_timeout=60) as shop:

        @shop.handler("order", max_attempts=6)
        async def order(job: Job, payload: Any, call: Call) -> Outcome:
            await call.with_policy(CallPolicy(public=True)).http.request("GET", url)
            return Done()

        job = await shop.enqueue("order", channel="shop", max_attempts=6)
        async with run_worker(shop, concurrency=1):
            assert (await wait_for_end(shop, job)).attempts == 6
        assert await shop.store.circuits() == []


async def test_breaker_outside_jobs_uses_the_same_circuit(app: Postino) -> None:
    async with register_failing(app, failure_threshold=2, open_timeout=60, max_open_timeout=60) as shop:

        async def fail() -> str:
            raise OSError("closed")

        async def work() -> str:
            return "done"

        async def otherwise() -> str:
            return "later"

        assert await shop.breaker.call("shop", work) == "done"
        assert await shop.store.circuits() == [], "good news are no news"
        assert await shop.breaker.call("shop", fail, otherwise) == "later"
        with pytest.raises(OSError, match="closed"):
            await shop.breaker.call("shop", fail)
        assert await read_state(shop) is CircuitState.OPEN
        with pytest.raises(CircuitOpen, match="The circuit of shop is open until"):
            await shop.breaker.call("shop", work)
        assert await shop.breaker.call("shop", work, otherwise) == "later"
        await shop.store.close_circuit("shop", AuditContext("maria", "it is open again"))
        assert await shop.breaker.call("shop", work) == "done"


async def test_half_open_admits_one_probe_and_frees_a_dead_one(app: Postino) -> None:
    async with register_failing(app, failure_threshold=1, open_timeout=0.05, max_open_timeout=0.05) as shop:
        shop.breaker.probe_timeout = 0.3
        await shop.breaker.record_failure("shop", "closed")
        await wait_for(lambda: is_half_open(shop))
        entered = asyncio.Event()

        async def hang() -> str:
            entered.set()
            await asyncio.sleep(60)
            return "never"

        async def work() -> str:
            return "done"

        async def otherwise() -> str:
            return "later"

        prober = asyncio.create_task(shop.breaker.call("shop", hang))
        await entered.wait()
        assert await shop.breaker.call("shop", work, otherwise) == "later"

        async def is_freed() -> bool:
            return await shop.breaker.call("shop", work, otherwise) == "done"

        await wait_for(is_freed)
        assert await read_state(shop) is CircuitState.CLOSED
        prober.cancel()
        await asyncio.gather(prober, return_exceptions=True)


async def is_half_open(app: Postino) -> bool:
    return await read_state(app) is CircuitState.HALF_OPEN


async def test_rate_limit_cools_down_all_jobs_of_the_account(app: Postino) -> None:
    until_at = datetime.now(UTC) + timedelta(seconds=0.5)
    ran: list[datetime] = []

    @app.handler("post")
    async def post(job: Job) -> None:
        ran.append(datetime.now(UTC))

    await app.store.start_cooldown(Scope.ACCOUNT, "anna", until_at, "Slow down.")
    jobs = [await app.enqueue("post", account="anna") for _ in range(3)]
    other = await app.enqueue("post", account="bert")
    async with run_worker(app):
        assert (await wait_for_end(app, other)).state is State.COMPLETED
        for job in jobs:
            assert (await wait_for_end(app, job)).state is State.COMPLETED
    assert ran[0] < until_at
    assert all(at >= until_at for at in ran[1:])


async def test_worker_remembers_only_the_services_in_use(app: Postino) -> None:
    """A customer with many broken servers makes neither polls nor the memory of a worker grow."""
    policy = BreakerPolicy(failure_threshold=1)
    monitor = CircuitMonitor(app.store, {"mastodon": policy}, lambda: datetime.now(UTC), lambda: None, ["mastodon"])
    services = [f"mastodon@s{number}.example" for number in range(MAX_WATCHED + 50)]
    for service in services:
        await app.store.record_response(service, False, policy, "status 500")
        await monitor.watch(service)
    asked = monitor.list_watched()
    assert asked == services[-MAX_WATCHED:]
    began_at, poll = clock.monotonic(), await app.store.poll("w", services=asked)
    assert len(poll.service_circuits) == MAX_WATCHED
    monitor.update(poll.gate_sources, poll.service_circuits, asked, began_at)
    assert len(monitor.breakers) == len(monitor.stored) == MAX_WATCHED
    monitor.watched = dict.fromkeys(monitor.watched, 0.0)  # long ago
    monitor.under_way[services[0]] += 1
    await monitor.watch(services[1])
    asked = monitor.list_watched()
    began_at, poll = clock.monotonic(), await app.store.poll("w", services=asked)
    monitor.update(poll.gate_sources, poll.service_circuits, asked, began_at)
    assert set(monitor.breakers) == set(monitor.stored) == {services[1]}


async def test_circuit_read_during_a_poll_is_not_forgotten(app: Postino) -> None:
    """Otherwise the success of a probe would not count, and its circuit would stay half-open."""
    policy = BreakerPolicy(failure_threshold=1, open_timeout=timedelta(milliseconds=1))
    monitor = CircuitMonitor(app.store, {"mastodon": policy}, lambda: datetime.now(UTC), lambda: None, ["mastodon"])
    await app.store.record_response("mastodon@a.example", False, policy, "status 500")
    asked = monitor.list_watched()
    began_at, poll = clock.monotonic(), await app.store.poll("w", services=asked)
    await monitor.watch("mastodon@a.example")
    monitor.update(poll.gate_sources, poll.service_circuits, asked, began_at)
    await asyncio.sleep(0.002)
    monitor.record_response("mastodon@a.example", True)
    await monitor.flush()
    assert await read_state(app, "mastodon@a.example") is CircuitState.CLOSED


async def test_closed_circuit_is_closed_for_workers_after_the_clock_was_set_back(app: Postino) -> None:
    """Otherwise claims take its jobs, and the worker gives each of them back, until the clock is where it was."""
    monitor = CircuitMonitor(app.store, {}, lambda: datetime.now(UTC), lambda: None, ["mastodon"])
    opened_at = datetime.now(UTC) + timedelta(hours=1)
    opened = Breaker(service="mastodon", state=CircuitState.OPEN, since_at=opened_at, until_at=None, manual=True)
    monitor.update(GateSources(breakers=(opened,)), [], [], clock.monotonic())
    assert monitor.find_closed_gate("mastodon") is not None
    poll = await app.store.poll("w")
    monitor.update(poll.gate_sources, [], [], clock.monotonic())
    assert monitor.find_closed_gate("mastodon") is None


async def test_failures_never_count_for_a_whole_network(app: Postino) -> None:
    policy = BreakerPolicy(failure_threshold=1, open_timeout=timedelta(milliseconds=1))
    monitor = CircuitMonitor(app.store, {"mastodon": policy}, lambda: datetime.now(UTC), lambda: None, ["mastodon"])
    guard = ServiceGuard(monitor, "mastodon", "mastodon@a.example")
    guard.record_response(False, "status 500")
    monitor.record_response("mastodon", False, "an old job")
    await monitor.flush()
    assert [breaker.service for breaker in await app.store.circuits()] == ["mastodon@a.example"]
    await app.store.open_circuit("mastodon", datetime.now(UTC), 1, AuditContext("maria", "maintenance"))
    began_at, poll = clock.monotonic(), await app.store.poll("w")
    monitor.update(poll.gate_sources, poll.service_circuits, [], began_at)
    ServiceGuard(monitor, "mastodon", "mastodon@b.example").record_response(True)
    await monitor.flush()
    assert await read_state(app, "mastodon") is CircuitState.CLOSED, "the first success on any server"
    assert await read_state(app, "mastodon@a.example") is not CircuitState.CLOSED
