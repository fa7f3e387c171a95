"""The simulated networks, where some run beside the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postino.client.endpoints import Resource, SessionT, call
from postino.client.messages import ApiRequest, delete, get, post
from postino.client.sandbox_shapes import Calls, Epoch, Fault, Faults, Networks, Record, Removed


class Sandbox(Resource[SessionT]):
    @call
    def published(self) -> ApiRequest[Record]:
        """The networks' own record of what is out."""
        return get("sandbox", "published")

    @call
    def networks(self) -> ApiRequest[Networks]:
        """What is simulated, and how it can go wrong."""
        return get("sandbox", "networks")

    @call
    def calls(self) -> ApiRequest[Calls]:
        """How often they were called."""
        return get("sandbox", "calls")

    @call
    def faults(self) -> ApiRequest[Faults]:
        """What shall go wrong."""
        return get("sandbox", "faults")

    @call
    def add_fault(
        self,
        network: str,
        fault: str,
        *,
        endpoint: str | None = None,
        times: int | None = None,
        rate: float | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> ApiRequest[Fault]:
        """Lets something go wrong: so many times, or at a rate from 0 to 1."""
        how: dict[str, Any] = {"endpoint": endpoint, "times": times, "rate": rate, "params": params}
        return post("sandbox", "faults", network=network, fault=fault, **how)

    @call
    def remove_fault(self, fault_id: int) -> ApiRequest[Removed]:
        return delete("sandbox", "faults", fault_id)

    @call
    def remove_faults(self) -> ApiRequest[Removed]:
        """Nothing shall go wrong any more."""
        return delete("sandbox", "faults")

    @call
    def reset(self) -> ApiRequest[Epoch]:
        """Begins anew, as if nothing had been published."""
        return post("sandbox", "reset")
