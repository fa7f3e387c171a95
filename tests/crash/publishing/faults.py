"""Every fault at every endpoint, from the sandbox's own tables."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from postino.sandbox.faults import FAULT_KINDS, list_faults_by_endpoint
from postino.sandbox.networks import networks
from tests.crash.publishing.post_shapes import NETWORKS, SHAPES, Shape, get_shape

LATE_SECONDS = 1.5  # seconds: longer than the timeout of a response here
INVISIBLE_SECONDS = 4.0  # seconds: longer than Postino expects a new post to be missing from lists here

# Other kinds have no variants.
VARIANTS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "timeout": ({"seconds": LATE_SECONDS}, {"seconds": LATE_SECONDS, "processed": False}),
    "rate_limited": ({"seconds": 1}, {"http_date": 1}, {"reset": 1}),
    "invisible": ({"seconds": 0.5}, {"seconds": INVISIBLE_SECONDS}),
    "slow": ({"seconds": 0.2}, {"seconds": LATE_SECONDS}),
    "truncated": ({}, {"hang_up": True}),
    "html": ({}, {"processed": False}, {"status": 200}),
}

# Endpoints that no publish calls; the sweep fails if one does.
UNUSED = frozenset({"refreshSession", "createRecord", "listRecords", "status", "instance", "getMe", "getChat"})
# Endpoints that only lookups call.
LOOKED_AT = frozenset({"getRecord", "account_statuses", "status_source", "nodeinfo_links", "nodeinfo"})
LOOKED_INTO = frozenset({"status_source"})  # called only if a lookup found a post
ASKED_ONCE = frozenset({"nodeinfo_links", "nodeinfo"})  # called by each worker's first lookup that found none
UNSIGNED = ASKED_ONCE | {"createSession"}  # called without an account: the first caller meets the fault
UNNAMED = frozenset({"verify_credentials"})  # called for accounts without a known remote id
PICTURED = {"uploadBlob": "picture", "media": "picture", "media_status": "picture", "sendPhoto": "picture",
            "sendMediaGroup": "pictures"}  # fmt: skip


AFTER_SENDING = ("handler.after", "settle.before", "settle.after")  # passed after any response


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of the next call of an endpoint."""

    endpoint: str
    name: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        params = " ".join(f"{name}={value}" for name, value in self.params.items())
        return f"{self.name} at {self.endpoint} {params}".strip()

    @property
    def is_processed(self) -> bool:
        """Return whether the network processes the call despite the fault."""
        processed: bool = self.params.get("processed", FAULT_KINDS[self.name].processed)
        return processed

    @property
    def loses_the_response(self) -> bool:
        """Return whether the response does not show if the visible call was processed."""
        return self.name not in ("rate_limited", "invisible") and self.params != {"seconds": 0.2}


LOST_RESPONSE = "process_then_drop"
LOST_REQUEST = "drop"


@dataclass(frozen=True, slots=True)
class FaultCase:
    """A post that meets a fault: its shape, the fault, and the faults that lead there."""

    shape: Shape
    faults: tuple[Fault, ...]

    def __str__(self) -> str:
        return f"{self.shape}, {self.faults[0]}"

    @property
    def fault(self) -> Fault:
        return self.faults[0]

    @property
    def passed_points(self) -> tuple[str, ...]:
        """Return the crash points that a worker passes after a visible call with this fault."""
        if not any(fault.loses_the_response for fault in self.faults):
            return ("send.after", "record_receipt.before", "record_receipt.after", *AFTER_SENDING)
        refused = self.fault.name in ("process_then_500", "error_but_published")  # the response proves nothing
        return ("send.after", *AFTER_SENDING) if refused else AFTER_SENDING


def variants(endpoint: str, name: str) -> Iterator[Fault]:
    for params in VARIANTS.get(name, ({},)):
        yield Fault(endpoint, name, params)


def list_fault_cases() -> list[FaultCase]:
    """Return a case for every variant of every fault at every endpoint of the networks."""
    return [
        fault_case
        for network, endpoint, name in list_faults_by_endpoint()
        if network in NETWORKS
        for fault in variants(endpoint, name)
        for fault_case in make_fault_cases(network, fault)
    ]


def make_fault_cases(network: str, fault: Fault) -> Iterator[FaultCase]:
    """Yield the cases of a fault: a lookup happens only after a lost response, with and without a live post."""
    shape = get_shape(network, PICTURED.get(fault.endpoint, "plain"))
    if fault.name == "invisible" or fault.endpoint in LOOKED_AT - ASKED_ONCE:
        yield FaultCase(shape, (fault, Fault(shape.visible, LOST_RESPONSE)))
    if fault.endpoint in LOOKED_AT - LOOKED_INTO:
        yield FaultCase(shape, (fault, Fault(shape.visible, LOST_REQUEST)))
    if fault.name != "invisible" and fault.endpoint not in LOOKED_AT:
        yield FaultCase(shape, (fault,))


def list_visible_fault_cases() -> list[FaultCase]:
    """Return the cases in which the visible call fails."""
    visible = {endpoint.name for network in NETWORKS for endpoint in networks()[network].endpoints if endpoint.visible}
    used = {shape.visible for shape in SHAPES}
    return [it for it in list_fault_cases() if it.fault.endpoint in visible & used]
