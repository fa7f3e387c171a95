"""A worker's view of circuits and channel cooldowns: whether a service may be called, and what its responses change.

The rules of the circuit breaker are in `rules.circuit_breaker`; the store holds the state that all workers share.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

import structlog

from postino import clock
from postino.errors import StoreUnreachable
from postino.rules.circuit_breaker import Breaker, BreakerPolicy, CircuitState, get_call_limit, get_state, record_result
from postino.rules.gates import BLOCKS_STARTED, GateSources, is_closed, to_gate
from postino.rules.settlement import DeadLetterCause
from postino.stores.records import SettledJob
from postino.stores.store import Store
from postino.values.event import EventType
from postino.values.gate import Gate, Scope
from postino.values.service import get_network, is_origin_service

log = structlog.get_logger("postino.circuits")
LOG_EVENTS = {CircuitState.OPEN: "circuit.opened", CircuitState.CLOSED: "circuit.closed"}
WATCHED_FOR = 10.0  # seconds after its last use that each poll reads the circuit of a service
MAX_WATCHED = 200  # services, besides those of requests under way
Response = tuple[str, bool, str | None]  # service, healthy, reason


class CircuitMonitor:
    """Holds the circuits as of the last poll, plus the responses that are not stored yet.

    Of services it holds those in use, however many there are.
    """

    def __init__(
        self,
        store: Store,
        policies: Mapping[str, BreakerPolicy],
        now: Callable[[], datetime],
        notify: Callable[[], None],
        networks: Collection[str] = (),
    ) -> None:
        self.store = store
        self.policies = policies  # by channel or network
        self.networks = networks  # whose circuits only people open: failures belong to the services of accounts
        self.now = now
        self.notify = notify  # makes other workers poll again
        self.stored: dict[str, Breaker] = {}  # as last read or written
        self.breakers: dict[str, Breaker] = {}  # including responses that are not stored yet
        self.changed_at: dict[
            str, float
        ] = {}  # when this worker changed a circuit; the database's clock may be set back
        self.gates: tuple[Gate, ...] = ()
        self.watched: dict[str, float] = {}  # when each service was last used, the last used at the end
        self.under_way: Counter[str] = Counter()  # requests by service
        self.waiting: list[Response] = []
        self.writing: asyncio.Task[None] | None = None

    async def watch(self, service: str) -> None:
        """Read the circuit of a service unless the last polls did; the next polls do."""
        known = self.watched.pop(service, None)
        self.watched[service] = clock.monotonic()
        if known is not None:
            return
        try:
            breaker, _ = await self.store.circuit(service)
        except StoreUnreachable:
            return  # whatever must be written fails too
        if breaker != Breaker(service=service):
            self.stored.setdefault(service, breaker)
            self.breakers.setdefault(service, breaker)

    def list_watched(self) -> list[str]:
        """Return the services whose circuits the next poll has to read."""
        since = clock.monotonic() - WATCHED_FOR
        recent = [service for service, used_at in self.watched.items() if used_at >= since][-MAX_WATCHED:]
        self.under_way += Counter()  # drops those without a request
        busy = [service for service in self.under_way if is_origin_service(service)]
        self.watched = {service: at for service, at in self.watched.items() if service in {*recent, *busy}}
        return [*self.watched]

    def update(self, known: GateSources, circuits: Sequence[Breaker], asked: Collection[str], began_at: float) -> None:
        """Store what a poll read that began then: channels, and the services it asked about. Keep later changes."""
        unwritten = {service for service, *_ in self.waiting}
        not_asked = {name: breaker for name, breaker in self.stored.items() if name in self.watched.keys() - {*asked}}
        self.changed_at = {name: changed_at for name, changed_at in self.changed_at.items() if changed_at >= began_at}
        newer = {name: self.breakers[name] for name in unwritten | self.changed_at.keys()}
        self.stored = not_asked | {breaker.service: breaker for breaker in (*known.breakers, *circuits)}
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
        policy = self.policies.get(get_network(service))
        if policy is None or (healthy and service not in self.breakers) or (not healthy and service in self.networks):
            return
        before = self.breakers.get(service, Breaker(service=service))
        breaker = record_result(before, healthy, policy, self.now(), reason)
        if breaker is before:
            return
        self.change(service, breaker)
        self.waiting.append((service, healthy, reason))
        if self.writing is None:
            self.writing = asyncio.create_task(self.write())

    def record_settled_job(self, settled_job: SettledJob, *, failure_counts: bool) -> None:
        """Count the result of a job that did not call its service with Postino's HTTP client: whether it succeeded.

        On the channel of a network nothing counts: posts call it with that client only. Without a call, something else
        failed, such as the host of a picture, or nothing was left to do.
        """
        if settled_job.job.channel in self.networks:
            return
        match settled_job.settlement.event, settled_job.settlement.cause:
            case EventType.COMPLETED, _:
                self.record_response(settled_job.job.channel, True)
            case (EventType.RETRYING, _) | (_, DeadLetterCause.EXHAUSTED) if failure_counts:
                self.record_response(settled_job.job.channel, False, settled_job.settlement.error)

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
            policy = self.policies[get_network(service)]
            breaker = await self.store.record_response(service, healthy, policy, reason)
        except StoreUnreachable:
            return  # nothing can be claimed either; responses count again when the store is back
        except Exception:
            log.exception("circuit.write_failed", service=service, next="the circuit counts the next response")
            return
        self.stored[service] = breaker
        if len([response for response in self.waiting if response[0] == service]) == 1:
            self.change(service, breaker)
        if breaker.state is not before.state or breaker.trips > before.trips:
            write_log = log.error if breaker.state is CircuitState.OPEN else log.info
            write_log(LOG_EVENTS[breaker.state], service=service, until=str(breaker.until_at), reason=breaker.reason)
            self.notify()

    def change(self, service: str, breaker: Breaker) -> None:
        self.breakers[service] = breaker
        self.changed_at[service] = clock.monotonic()

    async def flush(self) -> None:
        """Wait until all responses are stored."""
        if self.writing is not None:
            await asyncio.wait([self.writing])
