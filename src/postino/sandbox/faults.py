"""Declare the faults: where each can occur and its parameters. `responses` and `dispatch` perform them."""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from postino.errors import WrongUse
from postino.sandbox.network import SandboxEndpoint
from postino.sandbox.networks import networks

ANY = "*"
TIMEOUT_SECONDS = 75.0
SLOW_SECONDS = 2.0


def is_seconds(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 86_400


def is_seconds_or_range(value: Any) -> bool:
    if not isinstance(value, dict):
        return is_seconds(value)
    return set(value) == {"min", "max"} and all(map(is_seconds, value.values())) and value["min"] <= value["max"]


def is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def is_status(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 200 <= value <= 599


def is_date_or_seconds(value: Any) -> bool:
    return isinstance(value, str) or value is True or is_seconds(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind:
    """What a fault does: whether the call is processed, the endpoints where it can occur, and its parameters."""

    meaning: str
    processed: bool
    occurs_at: Callable[[SandboxEndpoint], bool] = lambda _: True
    params: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)
    combines: bool = False  # can occur together with another fault of the same call


FAULT_KINDS: Mapping[str, FaultKind] = {
    "drop": FaultKind(meaning="The sandbox closes the connection and does not process the call.", processed=False),
    "process_then_drop": FaultKind(
        meaning="The sandbox processes the call and closes the connection without a response.", processed=True
    ),
    "process_then_500": FaultKind(
        meaning="The sandbox processes the call and responds with an internal error.", processed=True
    ),
    "timeout": FaultKind(
        meaning="The sandbox processes the call, unless `processed` is false, and sends 504 after `seconds` (75).",
        processed=True,
        params={"seconds": is_seconds, "processed": is_bool},
    ),
    "error_but_published": FaultKind(
        meaning="The post is published; the response is an error of the network.",
        processed=True,
        occurs_at=lambda endpoint: endpoint.visible,
    ),
    "rate_limited": FaultKind(
        meaning="The response is 429: with `Retry-After` in `seconds` or as `http_date`, with the network's own `reset`"
        " header, or with `none` of them. Calls of the account before that time get 429 again; with `everyone`, calls"
        " of all accounts do.",
        processed=False,
        params={
            "seconds": is_seconds,
            "http_date": is_date_or_seconds,
            "reset": is_seconds,
            "none": is_bool,
            "everyone": is_bool,
        },
    ),
    "invisible": FaultKind(
        meaning="The post is published and missing from the network's lists for `seconds` (5).",
        processed=True,
        occurs_at=lambda endpoint: endpoint.listed,
        params={"seconds": is_seconds},
        combines=True,
    ),
    "session_gone": FaultKind(
        meaning="The upload session or container no longer exists; the response says so.",
        processed=False,
        occurs_at=lambda endpoint: endpoint.gone is not None,
    ),
    "lost_refresh": FaultKind(
        meaning="The tokens are renewed and the response is lost. Where tokens rotate, the old ones no longer work.",
        processed=True,
        occurs_at=lambda endpoint: endpoint.refreshes,
    ),
    "slow": FaultKind(
        meaning="The sandbox processes the call after `seconds` (2), or between `min` and `max` seconds, even if the"
        " client has gone.",
        processed=True,
        params={"seconds": is_seconds_or_range},
        combines=True,
    ),
    "truncated": FaultKind(
        meaning="The sandbox processes the call and sends half of the JSON. With `hang_up` it closes the connection.",
        processed=True,
        params={"hang_up": is_bool},
    ),
    "html": FaultKind(
        meaning="The sandbox processes the call, unless `processed` is false, and sends HTML with `status` (502).",
        processed=True,
        params={"status": is_status, "processed": is_bool},
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledFault:
    """A fault that a person or test added: for a number of calls, or at a rate."""

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
    def kind(self) -> FaultKind:
        return FAULT_KINDS[self.fault]

    @property
    def processed(self) -> bool:
        processed: bool = self.params.get("processed", self.kind.processed)
        return processed

    @property
    def delay(self) -> float:
        """Seconds that a slow call takes. In a range, the n-th call takes the same time in every run."""
        seconds = self.params.get("seconds", SLOW_SECONDS)
        if not isinstance(seconds, dict):
            return float(seconds)
        low, high = seconds["min"], seconds["max"]
        return random.Random(f"{low} {high} {self.fired}").uniform(low, high)

    def matches(self, network: str, endpoint: SandboxEndpoint, account: str) -> bool:
        return (
            self.network in (ANY, network)
            and self.endpoint in (None, endpoint.name)
            and self.account in (None, account)
            and self.kind.occurs_at(endpoint)
        )


def list_faults_by_endpoint() -> Iterator[tuple[str, str, str]]:
    """Yield every possible (network, endpoint, fault), from the route tables, so that a sweep is complete."""
    for network in networks().values():
        for endpoint in network.endpoints:
            yield from (
                (network.name, endpoint.name, name) for name, kind in FAULT_KINDS.items() if kind.occurs_at(endpoint)
            )


def parse_fault(body: Mapping[str, Any]) -> ScheduledFault:
    """Return the fault in a request body. Raises WrongUse with the name of the wrong field."""
    for name in body:
        if name not in ("network", "endpoint", "account", "fault", "times", "rate", "params"):
            raise WrongUse(f"A fault has no field {name}.", name)
    fault = ScheduledFault(
        network=parse_choice("network", body.get("network"), [ANY, *networks()]),
        fault=parse_choice("fault", body.get("fault"), list(FAULT_KINDS)),
        endpoint=parse_text("endpoint", body.get("endpoint")),
        account=parse_text("account", body.get("account")),
        times=parse_times(body),
        rate=parse_rate(body),
        params=parse_params(body),
    )
    check_endpoint(fault)
    check_params(fault)
    return fault


def parse_choice(field: str, value: Any, known: list[str]) -> str:
    if value not in known:
        raise WrongUse(f"{field} must be one of {', '.join(known)}, not {value!r}.", field)
    return str(value)


def parse_text(field: str, value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise WrongUse(f"{field} must be a name, not {value!r}.", field)
    return value


def parse_times(body: Mapping[str, Any]) -> int | None:
    value = body.get("times")
    if value is None:
        return 1 if body.get("rate") is None else None
    if body.get("rate") is not None:
        raise WrongUse("A fault has either times or a rate, not both.", "rate")
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 1_000_000:
        raise WrongUse(f"times must be a whole number from 1, not {value!r}.", "times")
    return value


def parse_rate(body: Mapping[str, Any]) -> float | None:
    value = body.get("rate")
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1:
        raise WrongUse(f"rate must be above 0 and at most 1, not {value!r}.", "rate")
    return float(value)


def parse_params(body: Mapping[str, Any]) -> Mapping[str, Any]:
    value = body.get("params")
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise WrongUse(f"params must be an object, not {value!r}.", "params")
    return value


def check_endpoint(fault: ScheduledFault) -> None:
    reach = [network for network in networks().values() if fault.network in (ANY, network.name)]
    endpoints = [endpoint for network in reach for endpoint in network.endpoints]
    if fault.endpoint is not None:
        parse_choice("endpoint", fault.endpoint, list(dict.fromkeys(endpoint.name for endpoint in endpoints)))
        endpoints = [endpoint for endpoint in endpoints if endpoint.name == fault.endpoint]
    if not any(map(fault.kind.occurs_at, endpoints)):
        where = fault.endpoint or fault.network
        raise WrongUse(f"{fault.fault} cannot occur at {where}: {fault.kind.meaning}", "fault")


def check_params(fault: ScheduledFault) -> None:
    known = fault.kind.params
    for name, value in fault.params.items():
        if name not in known:
            names = ", ".join(known) or "none"
            raise WrongUse(f"{fault.fault} has no parameter {name}. Its parameters: {names}.", f"params.{name}")
        if not known[name](value):
            raise WrongUse(f"params.{name} of {fault.fault} cannot be {value!r}.", f"params.{name}")
    if fault.fault == "rate_limited":
        check_hint(fault.params)


def check_hint(params: Mapping[str, Any]) -> None:
    hints = set(params) - {"everyone"}
    if len(hints) > 1 and hints != {"seconds", "http_date"}:
        raise WrongUse("rate_limited takes one of seconds, http_date, reset and none.", "params")
    if params.get("everyone") and not hints - {"none"}:
        raise WrongUse("A limit for everyone needs seconds, http_date or reset.", "params.everyone")
