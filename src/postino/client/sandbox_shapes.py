"""What the simulated networks tell of themselves."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from postino.client.words import At


class Published(TypedDict):
    """What people see on a simulated network."""

    number: int
    epoch: int
    network: str
    account: str
    remote_id: str
    kind: str
    title: str | None
    text: str
    media: list[Any]
    reply_to: str | None
    published_at: At


class Record(TypedDict):
    """All that is out, in the order it became visible; each reset begins an epoch."""

    data: list[Published]
    epoch: int


class Endpoint(TypedDict):
    """What a simulated network can be asked, and how that can go wrong."""

    name: str
    methods: list[str]
    path: str
    visible: bool
    faults: list[str]


class Network(TypedDict):
    """A simulated network; its icon is a path in a square of 24."""

    network: str
    title: str
    colour: str
    icon: str
    endpoints: list[Endpoint]


class FaultKind(TypedDict):
    """A way to go wrong, and the `params` it takes."""

    fault: str
    meaning: str
    params: list[str]


class Networks(TypedDict):
    """All simulated networks, and the faults there are."""

    data: list[Network]
    faults: list[FaultKind]


class Fault(TypedDict):
    """What shall go wrong: so many `times`, or at a `rate`; it did so `fired` times."""

    id: int
    network: str
    endpoint: str | None
    account: str | None
    fault: str
    times: int | None
    rate: float | None
    params: dict[str, Any]
    fired: int


class Faults(TypedDict):
    """All that shall go wrong."""

    data: list[Fault]


class Removed(TypedDict):
    """How many faults were taken away."""

    removed: int


class Epoch(TypedDict):
    """The networks begin anew."""

    epoch: int


class NetworkCalls(TypedDict):
    """Calls to one network, and how many at once."""

    network: str
    calls: int
    in_flight: int
    most_in_flight: int


class AccountCalls(NetworkCalls):
    """The same of one account, endpoint by endpoint."""

    account: str | None
    endpoints: dict[str, int]


class Calls(TypedDict):
    """How often the simulated networks were called."""

    data: list[AccountCalls]
    networks: list[NetworkCalls]
