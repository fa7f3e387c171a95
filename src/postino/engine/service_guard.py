"""The circuits of one call: that of the service it calls, and that of its whole channel."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from postino.engine.circuit_monitor import CircuitMonitor
from postino.values.gate import Gate


@dataclass(frozen=True, slots=True)
class ServiceGuard:
    """Says whether a call may be made, and counts its response. `service` is empty where the channel is the service."""

    circuits: CircuitMonitor
    channel: str
    service: str = ""

    async def find_closed_gate(self) -> Gate | None:
        """Return the gate that forbids calls now: of the whole channel, or of the service."""
        if gate := self.circuits.find_closed_gate(self.channel):
            return gate
        if not self.service:
            return None
        await self.circuits.watch(self.service)
        return self.circuits.find_closed_gate(self.service)

    @contextmanager
    def keep_watching(self) -> Iterator[None]:
        """Let polls read the circuit while a request is in progress, so that its response changes the current state."""
        self.circuits.under_way[self.service] += 1
        try:
            yield
        finally:
            self.circuits.under_way[self.service] -= 1

    def record_response(self, healthy: bool, reason: str | None = None) -> None:
        """Count a response: a failure for the service alone; a success also ends a probe of the whole channel."""
        if self.service:
            self.circuits.record_response(self.service, healthy, reason)
        if healthy or not self.service:
            self.circuits.record_response(self.channel, healthy, reason)
