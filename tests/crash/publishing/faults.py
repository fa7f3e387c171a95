"""Every fault at every endpoint, from the sandbox's own tables."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from postino.sandbox.faults import FAULT_KINDS, faults_by_endpoint
from postino.sandbox.networks import networks
from tests.crash.publishing.post_shapes import NETWORKS, SHAPES, Shape, shape_for

ANSWERED_LATE = 1.5  # seconds: longer than an answer is waited for here
UNSEEN = 4.0  # seconds: longer than Postino expects a new post to stay out of its own lists, here

# A kind that is not named here is tried as it is.
VARIANTS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "timeout": ({"seconds": ANSWERED_LATE}, {"seconds": ANSWERED_LATE, "processed": False}),
    "rate_limited": ({"seconds": 1}, {"http_date": 1}, {"reset": 1}),
    "invisible": ({"seconds": 0.5}, {"seconds": UNSEEN}),
    "slow": ({"seconds": 0.2}, {"seconds": ANSWERED_LATE}),
    "truncated": ({}, {"hang_up": True}),
    "html": ({}, {"processed": False}, {"status": 200}),
}

# Endpoints that no publish calls; the sweep finds out if one does after all.
UNUSED = frozenset({"refreshSession", "createRecord", "listRecords", "status", "instance", "getMe", "getChat"})
# Endpoints that are called only to find out what became of a visible call.
LOOKED_AT = frozenset({"getRecord", "account_statuses", "status_source"})
LOOKED_INTO = frozenset({"status_source"})  # and of these, those that are called only where something was found
SIGN_INS = frozenset({"createSession"})  # called before the network knows who calls: whoever comes first is met
UNNAMED = frozenset({"verify_credentials"})  # called for accounts of which the network's own name is not known
PICTURED = {"uploadBlob": "picture", "media": "picture", "media_status": "picture", "sendPhoto": "picture",
            "sendMediaGroup": "pictures"}  # fmt: skip


AFTER_SENDING = ("handler.after", "settle.before", "settle.after")  # passed whatever the network answers


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with the next call of an endpoint."""

    endpoint: str
    name: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        told = " ".join(f"{name}={value}" for name, value in self.params.items())
        return f"{self.name} at {self.endpoint} {told}".strip()

    @property
    def done(self) -> bool:
        """Whether the call is carried out all the same."""
        told: bool = self.params.get("processed", FAULT_KINDS[self.name].processed)
        return told

    @property
    def loses_the_answer(self) -> bool:
        """At a visible endpoint: nobody can tell from what comes back whether it was done."""
        return self.name not in ("rate_limited", "invisible") and self.params != {"seconds": 0.2}


LOST_ANSWER = "process_then_drop"
NOT_ARRIVED = "drop"


@dataclass(frozen=True, slots=True)
class Trouble:
    """A post that meets a fault: of which shape it must be, and what else has to go wrong on the way there."""

    shape: Shape
    faults: tuple[Fault, ...]

    def __str__(self) -> str:
        return f"{self.shape}, {self.faults[0]}"

    @property
    def fault(self) -> Fault:
        return self.faults[0]

    @property
    def passed(self) -> tuple[str, ...]:
        """The crash points that a worker passes after a visible call to which this happened, in its first life."""
        if not any(fault.loses_the_answer for fault in self.faults):
            return ("send.after", "record_receipt.before", "record_receipt.after", *AFTER_SENDING)
        refused = self.fault.name in ("process_then_500", "error_but_published")  # in words that prove nothing
        return ("send.after", *AFTER_SENDING) if refused else AFTER_SENDING


def variants(endpoint: str, name: str) -> Iterator[Fault]:
    for params in VARIANTS.get(name, ({},)):
        yield Fault(endpoint, name, params)


def troubles() -> list[Trouble]:
    """One for every variant of every fault at every endpoint of the networks that are published to."""
    return [
        trouble
        for network, endpoint, name in faults_by_endpoint()
        if network in NETWORKS
        for fault in variants(endpoint, name)
        for trouble in troubles_with(network, fault)
    ]


def troubles_with(network: str, fault: Fault) -> Iterator[Trouble]:
    """Nobody looks as long as answers come; and what is looked for may be there or not."""
    shape = shape_for(network, PICTURED.get(fault.endpoint, "plain"))
    if fault.name == "invisible" or fault.endpoint in LOOKED_AT:
        yield Trouble(shape, (fault, Fault(shape.visible, LOST_ANSWER)))
    if fault.endpoint in LOOKED_AT - LOOKED_INTO:
        yield Trouble(shape, (fault, Fault(shape.visible, NOT_ARRIVED)))
    if fault.name != "invisible" and fault.endpoint not in LOOKED_AT:
        yield Trouble(shape, (fault,))


def visible_troubles() -> list[Trouble]:
    """Those that befall the call that others can see."""
    visible = {endpoint.name for network in NETWORKS for endpoint in networks()[network].endpoints if endpoint.visible}
    used = {shape.visible for shape in SHAPES}
    return [it for it in troubles() if it.fault.endpoint in visible & used]
