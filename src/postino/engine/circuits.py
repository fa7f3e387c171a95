"""What this worker knows of the services it calls, what it adds to that, and who is held back because of it."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime

import structlog

from postino.errors import StoreUnreachable
from postino.rules.circuit_breaker import Breaker, BreakerPolicy, Circuit, admits, after, state_at
from postino.rules.gates import EVEN_IF_SENT, Known, gate_of, is_closed
from postino.rules.settlement import Cause
from postino.stores.records import SettledJob
from postino.stores.store import Store
from postino.values.event import EventType
from postino.values.gate import Gate, Scope

log = structlog.get_logger("postino.circuits")
LOUD = {Circuit.OPEN: "circuit.opened", Circuit.CLOSED: "circuit.closed"}
Answered = tuple[str, bool, str | None]


class CircuitMonitor:
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
        self.stored: dict[str, Breaker] = {}  # as last seen or written
        self.breakers: dict[str, Breaker] = {}  # with what is not written yet
        self.gates: tuple[Gate, ...] = ()
        self.waiting: list[Answered] = []
        self.writing: asyncio.Task[None] | None = None

    def seen(self, known: Known, at: datetime) -> None:
        """What a look at the store showed; what happened here since then is not in it."""
        unwritten = {service for service, *_ in self.waiting}
        newer = {
            name: breaker
            for name, breaker in self.breakers.items()
            if name in unwritten or (breaker.since_at is not None and breaker.since_at > at)
        }
        self.stored = {breaker.service: breaker for breaker in known.breakers}
        self.breakers = self.stored | newer
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
        before = self.breakers.get(service, Breaker(service=service))
        now_is = after(before, healthy, self.policies[service], self.now(), why)
        if now_is is before:
            return
        self.breakers[service] = now_is
        self.waiting.append((service, healthy, why))
        if self.writing is None:
            self.writing = asyncio.create_task(self.write())

    def judge(self, ending: SettledJob) -> None:
        """By how a job ended that called nobody through its door: whether it worked is all there is to see."""
        match ending.settlement.event, ending.settlement.cause:
            case EventType.COMPLETED, _:
                self.answered(ending.job.channel, True)
            case (EventType.RETRYING, _) | (_, Cause.EXHAUSTED):
                self.answered(ending.job.channel, False, ending.settlement.error)

    async def write(self) -> None:
        try:
            while self.waiting:
                await self.write_one(*self.waiting[0])
                del self.waiting[0]
        finally:
            self.writing = None

    async def write_one(self, service: str, healthy: bool, why: str | None) -> None:
        before = self.stored.get(service, Breaker(service=service))
        if before.state is Circuit.OPEN and state_at(before, self.now()) is Circuit.OPEN:
            return  # what answers now was asked before
        try:
            breaker = await self.store.record_response(service, healthy, self.policies[service], why)
        except StoreUnreachable:
            return  # nobody can claim anything either; who answers when the store is back counts again
        except Exception:
            log.exception("circuit.unwritten", service=service, next="the next answer counts")
            return
        self.stored[service] = breaker
        if len([it for it in self.waiting if it[0] == service]) == 1:
            self.breakers[service] = breaker
        if breaker.state is not before.state or breaker.trips > before.trips:
            loud = log.error if breaker.state is Circuit.OPEN else log.info
            loud(LOUD[breaker.state], service=service, until=str(breaker.until_at), reason=breaker.reason)
            self.changed()

    async def flushed(self) -> None:
        if self.writing is not None:
            await asyncio.wait([self.writing])
