"""A worker's view of circuits and channel cooldowns: whether a service may be called, and what its responses change.

The rules of the circuit breaker are in `rules.circuit_breaker`; the store holds the state that all workers share.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime

import structlog

from postino.errors import StoreUnreachable
from postino.rules.circuit_breaker import Breaker, BreakerPolicy, CircuitState, get_call_limit, get_state, record_result
from postino.rules.gates import BLOCKS_STARTED, GateSources, is_closed, to_gate
from postino.rules.settlement import DeadLetterCause
from postino.stores.records import SettledJob
from postino.stores.store import Store
from postino.values.event import EventType
from postino.values.gate import Gate, Scope

log = structlog.get_logger("postino.circuits")
LOG_EVENTS = {CircuitState.OPEN: "circuit.opened", CircuitState.CLOSED: "circuit.closed"}
Response = tuple[str, bool, str | None]  # service, healthy, reason


class CircuitMonitor:
    """Holds the circuits as of the last poll, plus the responses that are not stored yet."""

    def __init__(
        self,
        store: Store,
        policies: Mapping[str, BreakerPolicy],
        now: Callable[[], datetime],
        notify: Callable[[], None],
    ) -> None:
        self.store = store
        self.policies = policies
        self.now = now
        self.notify = notify  # makes other workers poll again
        self.stored: dict[str, Breaker] = {}  # as last read or written
        self.breakers: dict[str, Breaker] = {}  # including responses that are not stored yet
        self.gates: tuple[Gate, ...] = ()
        self.waiting: list[Response] = []
        self.writing: asyncio.Task[None] | None = None

    def update(self, known: GateSources, at: datetime) -> None:
        """Take over what a poll read at this time. Changes made here after that time stay."""
        unwritten = {service for service, *_ in self.waiting}
        newer = {
            name: breaker
            for name, breaker in self.breakers.items()
            if name in unwritten or (breaker.since_at is not None and breaker.since_at > at)
        }
        self.stored = {breaker.service: breaker for breaker in known.breakers}
        self.breakers = self.stored | newer
        self.gates = tuple(gate for gate in known.gates if gate.scope is Scope.CHANNEL and gate.kind in BLOCKS_STARTED)

    def find_closed_gate(self, service: str) -> Gate | None:
        """Return the gate that forbids calls to this service now."""
        breaker = self.breakers.get(service)
        if breaker is not None and get_call_limit(breaker, self.now()) == 0:
            return to_gate(breaker)
        return next((gate for gate in self.gates if gate.name == service and is_closed(gate, self.now())), None)

    def add_cooldown(self, gate: Gate) -> None:
        """Apply a cooldown of a whole channel without waiting for the next poll."""
        self.gates = (*self.gates, gate)
        self.notify()

    def record_response(self, service: str, healthy: bool, reason: str | None = None) -> None:
        """Count a response and store it in the background: the caller must store its receipt first.

        A healthy response of a service without a circuit changes nothing and is not stored.
        """
        if service not in self.policies or (healthy and service not in self.breakers):
            return
        before = self.breakers.get(service, Breaker(service=service))
        breaker = record_result(before, healthy, self.policies[service], self.now(), reason)
        if breaker is before:
            return
        self.breakers[service] = breaker
        self.waiting.append((service, healthy, reason))
        if self.writing is None:
            self.writing = asyncio.create_task(self.write())

    def record_ending(self, ending: SettledJob) -> None:
        """Count how a job ended that used no HTTP client of ours: success or failure is all there is to see."""
        match ending.settlement.event, ending.settlement.cause:
            case EventType.COMPLETED, _:
                self.record_response(ending.job.channel, True)
            case (EventType.RETRYING, _) | (_, DeadLetterCause.EXHAUSTED):
                self.record_response(ending.job.channel, False, ending.settlement.error)

    async def write(self) -> None:
        """Store the waiting responses, one after the other."""
        try:
            while self.waiting:
                await self.write_one(*self.waiting[0])
                del self.waiting[0]
        finally:
            self.writing = None

    async def write_one(self, service: str, healthy: bool, reason: str | None) -> None:
        before = self.stored.get(service, Breaker(service=service))
        if before.state is CircuitState.OPEN and get_state(before, self.now()) is CircuitState.OPEN:
            return  # a response to a request that left before the circuit opened
        try:
            breaker = await self.store.record_response(service, healthy, self.policies[service], reason)
        except StoreUnreachable:
            return  # nothing can be claimed either; responses count again when the store is back
        except Exception:
            log.exception("circuit.write_failed", service=service, next="the next response counts")
            return
        self.stored[service] = breaker
        if len([response for response in self.waiting if response[0] == service]) == 1:
            self.breakers[service] = breaker
        if breaker.state is not before.state or breaker.trips > before.trips:
            write_log = log.error if breaker.state is CircuitState.OPEN else log.info
            write_log(LOG_EVENTS[breaker.state], service=service, until=str(breaker.until_at), reason=breaker.reason)
            self.notify()

    async def flush(self) -> None:
        """Wait until all responses are stored."""
        if self.writing is not None:
            await asyncio.wait([self.writing])
