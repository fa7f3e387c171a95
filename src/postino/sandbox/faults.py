"""The ways a network can misbehave, and where each of them makes sense. Decides nothing about when."""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from postino.errors import WrongUse
from postino.sandbox.network import Endpoint
from postino.sandbox.networks import networks

ANY = "*"
LONGER_THAN_ANYBODY_WAITS = 75.0
SECONDS_SLOW = 2.0


def seconds(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 86_400


def seconds_or_range(value: Any) -> bool:
    if not isinstance(value, dict):
        return seconds(value)
    return set(value) == {"min", "max"} and all(map(seconds, value.values())) and value["min"] <= value["max"]


def truth(value: Any) -> bool:
    return isinstance(value, bool)


def error_status(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 200 <= value <= 599


def date_or_seconds(value: Any) -> bool:
    return isinstance(value, str) or value is True or seconds(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A fault: whether the call is processed all the same, at which endpoints it can be, and what it can be told."""

    meaning: str
    processed: bool
    at: Callable[[Endpoint], bool] = lambda _: True
    params: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)
    together: bool = False  # comes on top of another fault of the same call


KINDS: Mapping[str, Kind] = {
    "drop": Kind(meaning="The connection is closed before anything is done.", processed=False),
    "process_then_drop": Kind(meaning="It is done; the connection is closed without an answer.", processed=True),
    "process_then_500": Kind(meaning="It is done; the answer is an internal error.", processed=True),
    "timeout": Kind(
        meaning="It is done, unless `processed` is false; after `seconds` (75) comes a 504.",
        processed=True,
        params={"seconds": seconds, "processed": truth},
    ),
    "error_but_published": Kind(
        meaning="It is done and people see it; the answer is the network's own error.",
        processed=True,
        at=lambda endpoint: endpoint.visible,
    ),
    "rate_limited": Kind(
        meaning="Nothing is done: 429, with Retry-After as `seconds` or `http_date`, with nothing but the network's own"
        " `reset` header, or without any hint. Whoever comes back earlier than it was told gets a 429 again; with"
        " `everyone`, all accounts of the network do.",
        processed=False,
        params={
            "seconds": seconds,
            "http_date": date_or_seconds,
            "reset": seconds,
            "none": truth,
            "everyone": truth,
        },
    ),
    "invisible": Kind(
        meaning="It is done; for `seconds` (5) it is missing from the network's lists.",
        processed=True,
        at=lambda endpoint: endpoint.listed,
        params={"seconds": seconds},
        together=True,
    ),
    "session_gone": Kind(
        meaning="The upload session or container is gone for good, and the network says so.",
        processed=False,
        at=lambda endpoint: endpoint.gone is not None,
    ),
    "lost_refresh": Kind(
        meaning="The tokens are renewed, and the answer is lost; where they rotate, the old one is dead.",
        processed=True,
        at=lambda endpoint: endpoint.refreshes,
    ),
    "slow": Kind(
        meaning="It is done only after `seconds` (2), or between `min` and `max` of them, even if nobody waits any"
        " more.",
        processed=True,
        params={"seconds": seconds_or_range},
        together=True,
    ),
    "truncated": Kind(
        meaning="It is done; half of the JSON comes back. With `hang_up` the connection ends there, too.",
        processed=True,
        params={"hang_up": truth},
    ),
    "html": Kind(
        meaning="It is done, unless `processed` is false; a page comes back instead of JSON, with `status` (502).",
        processed=True,
        params={"status": error_status, "processed": truth},
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What somebody asked to go wrong: so many times, or at such a rate."""

    network: str
    fault: str
    endpoint: str | None = None
    account: str | None = None
    times: int | None = None
    rate: float | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    id: int | None = None
    fired: int = 0

    @property
    def kind(self) -> Kind:
        return KINDS[self.fault]

    @property
    def processed(self) -> bool:
        told: bool = self.params.get("processed", self.kind.processed)
        return told

    @property
    def delay(self) -> float:
        """Seconds a slow call takes. Of a range, the same one for the same call in a row, whenever it is tried."""
        told = self.params.get("seconds", SECONDS_SLOW)
        if not isinstance(told, dict):
            return float(told)
        return random.Random(f"{told['min']} {told['max']} {self.fired}").uniform(told["min"], told["max"])

    def hits(self, network: str, endpoint: Endpoint, account: str) -> bool:
        return (
            self.network in (ANY, network)
            and self.endpoint in (None, endpoint.name)
            and self.account in (None, account)
            and self.kind.at(endpoint)
        )


def faults_by_endpoint() -> Iterator[tuple[str, str, str]]:
    """Every (network, endpoint, fault) that makes sense, from the route tables: a sweep over it forgets nothing."""
    for network in networks().values():
        for endpoint in network.endpoints:
            yield from ((network.name, endpoint.name, name) for name, kind in KINDS.items() if kind.at(endpoint))


def parse(body: Mapping[str, Any]) -> Fault:
    """Raises WrongUse, which names the field."""
    for name in body:
        if name not in ("network", "endpoint", "account", "fault", "times", "rate", "params"):
            raise WrongUse(f"A fault has no {name}.", name)
    fault = Fault(
        network=one_of("network", body.get("network"), [ANY, *networks()]),
        fault=one_of("fault", body.get("fault"), list(KINDS)),
        endpoint=text("endpoint", body.get("endpoint")),
        account=text("account", body.get("account")),
        times=times(body),
        rate=rate(body),
        params=params(body),
    )
    check_place(fault)
    check_params(fault)
    return fault


def one_of(field: str, value: Any, known: list[str]) -> str:
    if value not in known:
        raise WrongUse(f"{field} is one of {', '.join(known)}; {value!r} is none of them.", field)
    return str(value)


def text(field: str, value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise WrongUse(f"{field} is a name, not {value!r}.", field)
    return value


def times(body: Mapping[str, Any]) -> int | None:
    value = body.get("times")
    if value is None:
        return 1 if body.get("rate") is None else None
    if body.get("rate") is not None:
        raise WrongUse("A fault has times or a rate, not both.", "rate")
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 1_000_000:
        raise WrongUse(f"times is a whole number from 1, not {value!r}.", "times")
    return value


def rate(body: Mapping[str, Any]) -> float | None:
    value = body.get("rate")
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1:
        raise WrongUse(f"rate is a share above 0, at most 1, not {value!r}.", "rate")
    return float(value)


def params(body: Mapping[str, Any]) -> Mapping[str, Any]:
    value = body.get("params")
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise WrongUse(f"params are an object, not {value!r}.", "params")
    return value


def check_place(fault: Fault) -> None:
    reach = [network for network in networks().values() if fault.network in (ANY, network.name)]
    endpoints = [endpoint for network in reach for endpoint in network.endpoints]
    if fault.endpoint is not None:
        one_of("endpoint", fault.endpoint, list(dict.fromkeys(endpoint.name for endpoint in endpoints)))
        endpoints = [endpoint for endpoint in endpoints if endpoint.name == fault.endpoint]
    if not any(map(fault.kind.at, endpoints)):
        where = fault.endpoint or fault.network
        raise WrongUse(f"{fault.fault} makes no sense at {where}: {fault.kind.meaning}", "fault")


def check_params(fault: Fault) -> None:
    known = fault.kind.params
    for name, value in fault.params.items():
        if name not in known:
            told = ", ".join(known) or "no params"
            raise WrongUse(f"{fault.fault} knows {told}; not {name}.", f"params.{name}")
        if not known[name](value):
            raise WrongUse(f"params.{name} of {fault.fault} cannot be {value!r}.", f"params.{name}")
    if fault.fault == "rate_limited":
        check_hint(fault.params)


def check_hint(params: Mapping[str, Any]) -> None:
    hints = set(params) - {"everyone"}
    if len(hints) > 1 and hints != {"seconds", "http_date"}:
        raise WrongUse("rate_limited takes one of seconds, http_date, reset and none.", "params")
    if params.get("everyone") and not hints - {"none"}:
        raise WrongUse("A limit for everyone needs seconds, http_date or reset: until when is it?", "params.everyone")
