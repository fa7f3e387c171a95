"""Circuit breakers: a value, and the functions that change it. They never call a service themselves.

Closed → open after too many failures → half-open after a timeout → closed by one success, open again by one failure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from postino.errors import WrongUse
from postino.values.suggestions import suggest_name

MAX_COUNT = 1000  # every counted failure is stored
MIN_SECONDS = 0.001
MAX_SECONDS = 366 * 86400.0


class CircuitState(StrEnum):
    """Closed: calls are allowed. Open: none are. Half-open: a few probes find out whether the service works."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy:
    """How many failures open a circuit, for how long, and how many probes test it while half-open."""

    failure_threshold: int = 5
    window: timedelta = timedelta(seconds=60)  # not used if `consecutive`
    open_timeout: timedelta = timedelta(seconds=120)
    half_open_max_attempts: int = 1
    max_open_timeout: timedelta = timedelta(seconds=300)  # at which doubling ends; `open_timeout` may be longer
    consecutive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """The circuit of one service. An open circuit without `until_at` stays open until a person closes it."""

    service: str
    state: CircuitState = CircuitState.CLOSED
    since_at: datetime | None = None
    until_at: datetime | None = None
    failures: tuple[datetime, ...] = ()  # those that count, oldest first
    trips: int = 0  # openings since the last success
    probes: int = 1  # concurrent calls while half-open
    reason: str | None = None
    manual: bool = False  # opened by a person


DEFAULT_POLICY = BreakerPolicy()
OPENAI_POLICY = BreakerPolicy(failure_threshold=3, open_timeout=timedelta(seconds=180))
ADR013_POLICY = BreakerPolicy(open_timeout=timedelta(seconds=300), half_open_max_attempts=2, consecutive=True)
PROFILES: Mapping[str, BreakerPolicy] = {"default": DEFAULT_POLICY, "openai": OPENAI_POLICY, "adr013": ADR013_POLICY}


def parse_policy(service: str, given: Mapping[str, Any] | None) -> BreakerPolicy:
    """Return the policy of a service: its default or the given profile, then each given setting over it."""
    policy = OPENAI_POLICY if service == "openai" else DEFAULT_POLICY
    if given is None:
        return policy
    if not isinstance(given, Mapping):
        raise _make_setting_error(service, "breaker", given, "a table of settings")
    known = [entry.name for entry in fields(BreakerPolicy)]
    for key in given:
        if key not in known and key != "profile":
            hint = suggest_name(str(key), [*known, "profile"])
            message = f"{key} of {service}: unknown circuit breaker setting (value {given[key]!r:.200}). {hint}"
            raise WrongUse(message, field=str(key))
    if "profile" in given:
        policy = _get_profile(service, given["profile"])
    settings: dict[str, Any] = {key: _parse_setting(service, key, given[key]) for key in known if key in given}
    return replace(policy, **settings)


def _get_profile(service: str, name: Any) -> BreakerPolicy:
    """Return the policy of a profile. Raises WrongUse if there is none of this name."""
    if isinstance(name, str) and name in PROFILES:
        return PROFILES[name]
    hint = suggest_name(str(name), PROFILES)
    raise WrongUse(f"profile of {service}: profile {name!r:.200} does not exist. {hint}", field="profile")


def _parse_setting(service: str, field: str, value: Any) -> int | bool | timedelta:
    """Parse the value of a setting: a count, a duration in seconds, or a boolean."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match getattr(DEFAULT_POLICY, field):
        case bool():
            if isinstance(value, bool):
                return value
            raise _make_setting_error(service, field, value, "true or false")
        case int():
            if number and isinstance(value, int) and 1 <= value <= MAX_COUNT:
                return value
            raise _make_setting_error(service, field, value, f"a whole number from 1 to {MAX_COUNT}")
        case _:
            if number and MIN_SECONDS <= value <= MAX_SECONDS:
                return timedelta(seconds=value)
            raise _make_setting_error(
                service, field, value, f"a number of seconds from {MIN_SECONDS} to {MAX_SECONDS:.0f}"
            )


def _make_setting_error(service: str, field: str, value: Any, expected: str) -> WrongUse:
    return WrongUse(f"{field} of {service}: expected {expected}, not {value!r:.200}.", field=field)


def get_state(breaker: Breaker, now: datetime) -> CircuitState:
    """Return the state at an instant. An open circuit becomes half-open by time alone, without a write."""
    return (
        CircuitState.HALF_OPEN
        if breaker.state is CircuitState.OPEN and _is_timeout_over(breaker, now)
        else breaker.state
    )


def _is_timeout_over(breaker: Breaker, now: datetime) -> bool:
    """Return whether the circuit has been open long enough."""
    since_at, until_at = breaker.since_at, breaker.until_at
    if until_at is None:
        return False
    if breaker.manual or since_at is None:
        return now >= until_at
    # If the clock was set back by more than the timeout, the circuit must not stay open for hours.
    return now >= until_at or since_at - now > until_at - since_at


def get_call_limit(breaker: Breaker, now: datetime) -> int | None:
    """Return how many concurrent calls all workers may make: None is unlimited, 0 is none, n are probes."""
    match get_state(breaker, now):
        case CircuitState.CLOSED:
            return None
        case CircuitState.OPEN:
            return 0
        case CircuitState.HALF_OPEN:
            return breaker.probes


def record_result(
    breaker: Breaker, healthy: bool, policy: BreakerPolicy, now: datetime, why: str | None = None
) -> Breaker:
    """Return the breaker after one call; the same object if nothing changes.

    While half-open, one success closes it, however many probes there are, and one failure opens it for longer.
    While open, nothing changes it: such a result belongs to a call that began earlier.
    """
    match get_state(breaker, now), healthy:
        case CircuitState.CLOSED, True:
            failures = () if policy.consecutive else breaker.failures
            unchanged = failures == breaker.failures and breaker.trips == 0
            return breaker if unchanged else replace(breaker, failures=failures, trips=0)
        case CircuitState.CLOSED, False:
            failures = _add_failure(breaker.failures, policy, now)
            counting = replace(breaker, failures=failures)
            return _trip(counting, policy, now, why) if len(failures) >= policy.failure_threshold else counting
        case CircuitState.HALF_OPEN, True:
            return replace(_close(breaker, now), trips=0)
        case CircuitState.HALF_OPEN, False:
            return _trip(replace(breaker, failures=_add_failure(breaker.failures, policy, now)), policy, now, why)
        case _:
            return breaker


def _add_failure(failures: tuple[datetime, ...], policy: BreakerPolicy, now: datetime) -> tuple[datetime, ...]:
    """Return the failures that count, with one now: all of them if consecutive, else those in one window."""
    if not policy.consecutive:
        # After the clock was set back a failure may be in the future: it counts if one window holds both.
        failures = tuple(at for at in failures if at - now <= policy.window)
        latest_at = max((now, *failures))
        failures = tuple(at for at in failures if latest_at - at <= policy.window)
    return tuple(sorted((*failures, now)))[-policy.failure_threshold :]


def _trip(breaker: Breaker, policy: BreakerPolicy, now: datetime, why: str | None) -> Breaker:
    """Open the circuit after failures, for longer each time until a success."""
    trips = breaker.trips + 1
    return replace(
        breaker,
        state=CircuitState.OPEN,
        since_at=now,
        until_at=now + _compute_open_duration(trips, policy),
        trips=trips,
        probes=policy.half_open_max_attempts,
        reason=why,
        manual=False,
    )


def _compute_open_duration(trips: int, policy: BreakerPolicy) -> timedelta:
    """Return how long the n-th opening in a row lasts: doubled each time, up to the maximum."""
    longest = max(policy.max_open_timeout, policy.open_timeout)
    # In seconds, and with a bounded exponent, because a timedelta overflows before a float does.
    doubled = policy.open_timeout.total_seconds() * 2.0 ** min(trips - 1, 64)
    return longest if doubled >= longest.total_seconds() else timedelta(seconds=doubled)


def open_manually(
    breaker: Breaker, now: datetime, *, until_at: datetime | None, reason: str | None, probes: int
) -> Breaker:
    """Open the circuit by hand. No success closes it before `until_at`; without one, only a person does."""
    return replace(
        breaker, state=CircuitState.OPEN, since_at=now, until_at=until_at, probes=probes, reason=reason, manual=True
    )


def close_manually(breaker: Breaker, now: datetime) -> Breaker:
    """Close the circuit by hand. Failures are forgotten; trips are kept until a success, as no call was made."""
    return breaker if breaker.state is CircuitState.CLOSED and not breaker.failures else _close(breaker, now)


def _close(breaker: Breaker, now: datetime) -> Breaker:
    """Close the circuit with no failures counted."""
    since_at = breaker.since_at if breaker.state is CircuitState.CLOSED else now
    return replace(
        breaker, state=CircuitState.CLOSED, since_at=since_at, until_at=None, failures=(), reason=None, manual=False
    )


def reset_breaker(breaker: Breaker) -> Breaker:
    """Return a new breaker for the same service."""
    return Breaker(service=breaker.service)
