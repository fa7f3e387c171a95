"""The simulated networks, where some run beside the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postino.client.messages import Request, get, post, remove
from postino.client.sandbox_shapes import Calls, Epoch, Fault, Faults, Networks, Record, Removed
from postino.client.ways import Room, Way, asks


class Sandbox(Room[Way]):
    @asks
    def published(self) -> Request[Record]:
        """The networks' own record of what is out."""
        return get("sandbox", "published")

    @asks
    def networks(self) -> Request[Networks]:
        """What is simulated, and how it can go wrong."""
        return get("sandbox", "networks")

    @asks
    def calls(self) -> Request[Calls]:
        """How often they were called."""
        return get("sandbox", "calls")

    @asks
    def faults(self) -> Request[Faults]:
        """What shall go wrong."""
        return get("sandbox", "faults")

    @asks
    def add_fault(
        self,
        network: str,
        fault: str,
        *,
        endpoint: str | None = None,
        times: int | None = None,
        rate: float | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Request[Fault]:
        """Lets something go wrong: so many times, or at a rate from 0 to 1."""
        how: dict[str, Any] = {"endpoint": endpoint, "times": times, "rate": rate, "params": params}
        return post("sandbox", "faults", network=network, fault=fault, **how)

    @asks
    def remove_fault(self, fault_id: int) -> Request[Removed]:
        return remove("sandbox", "faults", fault_id)

    @asks
    def remove_faults(self) -> Request[Removed]:
        """Nothing shall go wrong any more."""
        return remove("sandbox", "faults")

    @asks
    def reset(self) -> Request[Epoch]:
        """Begins anew, as if nothing had been published."""
        return post("sandbox", "reset")
