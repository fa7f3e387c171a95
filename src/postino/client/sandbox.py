"""The sandbox: simulated networks that run beside the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postino.client.endpoints import Resource, SessionT, call
from postino.client.messages import ApiRequest, delete, get, post
from postino.client.types.sandbox import (
    FaultsView,
    FaultView,
    RemovedFaultsView,
    SandboxCallsView,
    SandboxEpochView,
    SandboxNetworksView,
    SandboxPostsView,
)


class Sandbox(Resource[SessionT]):
    """Inspect the simulated networks and inject faults."""

    @call
    def published(self) -> ApiRequest[SandboxPostsView]:
        """Return all posts that are visible on the simulated networks."""
        return get("sandbox", "published")

    @call
    def networks(self) -> ApiRequest[SandboxNetworksView]:
        """Return the simulated networks and the kinds of fault."""
        return get("sandbox", "networks")

    @call
    def calls(self) -> ApiRequest[SandboxCallsView]:
        """Return how often the simulated networks were called."""
        return get("sandbox", "calls")

    @call
    def faults(self) -> ApiRequest[FaultsView]:
        """Return all active faults."""
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
    ) -> ApiRequest[FaultView]:
        """Inject a fault into the next `times` calls, or into a share of all calls (`rate`, 0 to 1)."""
        options: dict[str, Any] = {"endpoint": endpoint, "times": times, "rate": rate, "params": params}
        return post("sandbox", "faults", network=network, fault=fault, **options)

    @call
    def remove_fault(self, fault_id: int) -> ApiRequest[RemovedFaultsView]:
        """Remove one fault."""
        return delete("sandbox", "faults", fault_id)

    @call
    def remove_faults(self) -> ApiRequest[RemovedFaultsView]:
        """Remove all faults."""
        return delete("sandbox", "faults")

    @call
    def reset(self) -> ApiRequest[SandboxEpochView]:
        """Start a new epoch, as if nothing had been published."""
        return post("sandbox", "reset")
