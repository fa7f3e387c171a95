"""What this process knows of the services it calls, what it adds to that, and who is held back because of it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import TypeVar

import structlog

from postino.errors import CircuitOpen, StoreUnreachable
from postino.gate import Gate, Scope
from postino.job import new_id
from postino.rules.breaker import Breaker, BreakerPolicy, Circuit, admits, state_at
from postino.rules.gates import EVEN_IF_SENT, Known, gate_of, is_closed
from postino.store import Store

log = structlog.get_logger("postino.circuits")
T = TypeVar("T")
LOUD = {Circuit.OPEN: "circuit.opened", Circuit.CLOSED: "circuit.closed"}
Answered = tuple[str, bool, str | None]


class Circuits:
    """A worker's. The store is the truth; this is what the last look at it showed, and what was written since."""

    def __init__(
        self,
        store: Store,
        policies: Mapping[str, BreakerPolicy],
        now: Callable[[], datetime],
        changed: Callable[[], None],
    ) -> None:
        self.store = store
        self.policies = policies
        self.now = now
        self.changed = changed  # tells other workers to look
        self.breakers: dict[str, Breaker] = {}
        self.gates: tuple[Gate, ...] = ()
        self.waiting: list[Answered] = []
        self.writing: asyncio.Task[None] | None = None

    def seen(self, known: Known) -> None:
        self.breakers = {breaker.service: breaker for breaker in known.breakers}
        self.gates = tuple(gate for gate in known.gates if gate.scope is Scope.CHANNEL and gate.kind in EVEN_IF_SENT)

    def shut(self, service: str) -> Gate | None:
        """What keeps everybody from calling it now."""
        breaker = self.breakers.get(service)
        if breaker is not None and admits(breaker, self.now()) == 0:
            return gate_of(breaker)
        return next((gate for gate in self.gates if gate.name == service and is_closed(gate, self.now())), None)

    def cooled(self, gate: Gate) -> None:
        """A service just said that it wants fewer calls, from everybody."""
        self.gates = (*self.gates, gate)
        self.changed()

    def answered(self, service: str, healthy: bool, why: str | None = None) -> None:
        """Not awaited: what comes back from a network has to be written down first. Good news are no news, mostly."""
        if service not in self.policies or (healthy and service not in self.breakers):
            return
        self.waiting.append((service, healthy, why))
        if self.writing is None:
            self.writing = asyncio.create_task(self.write())

    async def write(self) -> None:
        try:
            while self.waiting:
                await self.write_one(*self.waiting.pop(0))
        finally:
            self.writing = None

    async def write_one(self, service: str, healthy: bool, why: str | None) -> None:
        before = self.breakers.get(service, Breaker(service=service))
        if before.state is Circuit.OPEN and state_at(before, self.now()) is Circuit.OPEN:
            return  # what answers now was asked before
        try:
            breaker = await self.store.answered(service, healthy, self.policies[service], why)
        except StoreUnreachable:
            return  # nobody can claim anything either; who answers when the store is back counts again
        self.breakers[service] = breaker
        if breaker.state is not before.state or breaker.trips > before.trips:
            loud = log.error if breaker.state is Circuit.OPEN else log.info
            loud(LOUD[breaker.state], service=service, until=str(breaker.until_at), reason=breaker.reason)
            self.changed()

    async def flushed(self) -> None:
        if self.writing is not None:
            await asyncio.wait([self.writing])


class CircuitBreaker:
    """For code outside jobs: `await breaker.call("openai", ask, fallback)`. Jobs need none: their calls are counted."""

    def __init__(self, store: Store, policy_of: Callable[[str], BreakerPolicy], probing: float = 60.0) -> None:
        self.store = store
        self.policy_of = policy_of
        self.probing = probing  # seconds after which a probe that never came back counts as gone

    async def call(
        self, service: str, action: Callable[[], Awaitable[T]], fallback: Callable[[], Awaitable[T]] | None = None
    ) -> T:
        """Its result, or the fallback's where the service is left alone or fails."""
        known, now = await self.store.known_gates()
        breaker = next((it for it in known.breakers if it.service == service), None)
        probe = await self.admitted(breaker, now)
        if probe is None:
            return await self.instead(service, fallback, None)
        try:
            result = await action()
        except Exception as error:  # noqa: BLE001 - whatever it is, the service did not do what it was asked
            await self.record_failure(service, str(error))
            return await self.instead(service, fallback, error)
        else:
            if breaker is not None:
                await self.record_success(service)
            return result
        finally:
            if probe:
                await self.store.finish_duty(*probe)

    async def instead(
        self, service: str, fallback: Callable[[], Awaitable[T]] | None, error: Exception | None
    ) -> T:
        if fallback is not None:
            return await fallback()
        if error is not None:
            raise error
        breaker = await self.get(service)
        until = f"until {breaker.until_at:%H:%M:%S} UTC" if breaker.until_at else "until somebody closes its circuit"
        raise CircuitOpen(f"{service} is in trouble and left alone {until}. Nothing was called.")

    async def admitted(self, breaker: Breaker | None, now: datetime) -> tuple[str, str] | tuple[()] | None:
        """Whether it may be called; half-open, with one of few probes, which frees itself if its caller dies."""
        most = None if breaker is None else admits(breaker, now)
        if breaker is None or most is None:
            return ()
        holder = str(new_id())
        for number in range(most):
            probe = f"probe {number} of {breaker.service}"
            if await self.store.take_duty(probe, holder, seconds=self.probing, every=0):
                await self.store.half_open(breaker.service)
                return probe, holder
        return None

    async def get(self, service: str) -> Breaker:
        found = [breaker for breaker in await self.store.circuits() if breaker.service == service]
        return found[0] if found else Breaker(service=service)

    async def get_state(self, service: str) -> Circuit:
        _, now = await self.store.known_gates()
        return state_at(await self.get(service), now)

    async def record_success(self, service: str) -> Breaker:
        return await self.store.answered(service, True, self.policy_of(service), None)

    async def record_failure(self, service: str, why: str | None = None) -> Breaker:
        return await self.store.answered(service, False, self.policy_of(service), why)
