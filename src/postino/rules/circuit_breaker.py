"""Whether a service is asked at all: a breaker is a value, and what an answer makes of it. It never asks anyone itself.

Closed → open after too many failures → half-open when its time is over → closed by one good answer, open by a bad one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from postino.errors import WrongUse
from postino.values.suggestions import suggest_name

MAX_COUNT = 1000  # every counted failure is stored with the breaker
MIN_SECONDS = 0.001
MAX_SECONDS = 366 * 86400.0


class CircuitState(StrEnum):
    """Closed: calls flow. Open: none is made. Half-open: a few find out whether the service is back."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy:
    """How many failures open a service's breaker, for how long, and how carefully it is tried again."""

    failure_threshold: int = 5
    window: timedelta = timedelta(seconds=60)  # means nothing where failures count in a row
    open_timeout: timedelta = timedelta(seconds=120)
    half_open_max_attempts: int = 1
    max_open_timeout: timedelta = timedelta(seconds=300)  # where doubling ends; `open_timeout` itself may be longer
    consecutive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """What is known of a service's health. Open without `until_at`, it stays open until somebody closes it."""

    service: str
    state: CircuitState = CircuitState.CLOSED
    since_at: datetime | None = None
    until_at: datetime | None = None
    failures: tuple[datetime, ...] = ()  # those that count, oldest first
    trips: int = 0  # openings since the service last answered well
    probes: int = 1  # how many calls may be under way at once while half-open
    reason: str | None = None
    by_hand: bool = False  # opened by a person


DEFAULT_POLICY = BreakerPolicy()
OPENAI_POLICY = BreakerPolicy(failure_threshold=3, open_timeout=timedelta(seconds=180))
ADR013_POLICY = BreakerPolicy(open_timeout=timedelta(seconds=300), half_open_max_attempts=2, consecutive=True)
PROFILES: Mapping[str, BreakerPolicy] = {"default": DEFAULT_POLICY, "openai": OPENAI_POLICY, "adr013": ADR013_POLICY}


def parse_policy(service: str, told: Mapping[str, Any] | None) -> BreakerPolicy:
    """Which policy is in force: the service's own default, else the profile told, then each key told over it."""
    policy = OPENAI_POLICY if service == "openai" else DEFAULT_POLICY
    if told is None:
        return policy
    if not isinstance(told, Mapping):
        raise _make_setting_error(service, "breaker", told, "a table of settings")
    known = [entry.name for entry in fields(BreakerPolicy)]
    for key in told:
        if key not in known and key != "profile":
            hint = suggest_name(str(key), [*known, "profile"])
            message = f"{key} of {service}: unknown circuit breaker setting (value {told[key]!r:.200}). {hint}"
            raise WrongUse(message, field=str(key))
    if "profile" in told:
        policy = _get_profile(service, told["profile"])
    settings: dict[str, Any] = {key: _parse_setting(service, key, told[key]) for key in known if key in told}
    return replace(policy, **settings)


def _get_profile(service: str, name: Any) -> BreakerPolicy:
    """Which policy a profile's name stands for."""
    if isinstance(name, str) and name in PROFILES:
        return PROFILES[name]
    hint = suggest_name(str(name), PROFILES)
    raise WrongUse(f"profile of {service}: profile {name!r:.200} does not exist. {hint}", field="profile")


def _parse_setting(service: str, field: str, value: Any) -> int | bool | timedelta:
    """What a told value means for this field: a count, a duration in seconds, or yes and no."""
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


def _make_setting_error(service: str, field: str, value: Any, wanted: str) -> WrongUse:
    return WrongUse(f"{field} of {service}: expected {wanted}, not {value!r:.200}.", field=field)


def get_state(breaker: Breaker, now: datetime) -> CircuitState:
    """What it is at this instant: an open one whose time is over is half-open, whether or not anybody wrote it down."""
    return (
        CircuitState.HALF_OPEN
        if breaker.state is CircuitState.OPEN and _is_timeout_over(breaker, now)
        else breaker.state
    )


def _is_timeout_over(breaker: Breaker, now: datetime) -> bool:
    """Whether an opening has lasted long enough."""
    since_at, until_at = breaker.since_at, breaker.until_at
    if until_at is None:
        return False
    if breaker.by_hand or since_at is None:
        return now >= until_at
    # Set back by more than the opening's own length, the clock would keep it open for as long again or for hours.
    return now >= until_at or since_at - now > until_at - since_at


def get_call_limit(breaker: Breaker, now: datetime) -> int | None:
    """How many calls may be under way at once, over all workers: None as many as like, 0 none, n so many probes."""
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
    """What one answer makes of it; the very same breaker where nothing changes.

    Half-open, one good answer closes it, however many probes there are, and one bad answer opens it for longer.
    Open, nothing changes it: what answers then was asked before.
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
    """Which failures count with the one of this instant: in a row all of them, else those of one window."""
    if not policy.consecutive:
        # On a clock set back a failure may lie ahead: it counts if one window holds it and this one.
        failures = tuple(at for at in failures if at - now <= policy.window)
        latest_at = max((now, *failures))
        failures = tuple(at for at in failures if latest_at - at <= policy.window)
    return tuple(sorted((*failures, now)))[-policy.failure_threshold :]


def _trip(breaker: Breaker, policy: BreakerPolicy, now: datetime, why: str | None) -> Breaker:
    """Opened by failures, for longer each time until the service has answered well."""
    trips = breaker.trips + 1
    return replace(
        breaker,
        state=CircuitState.OPEN,
        since_at=now,
        until_at=now + _compute_open_duration(trips, policy),
        trips=trips,
        probes=policy.half_open_max_attempts,
        reason=why,
        by_hand=False,
    )


def _compute_open_duration(trips: int, policy: BreakerPolicy) -> timedelta:
    """How long the first, second, … opening in a row lasts: doubled each time, up to the longest."""
    longest = max(policy.max_open_timeout, policy.open_timeout)
    # In seconds, and with a bounded exponent, because a timedelta overflows before a float does.
    doubled = policy.open_timeout.total_seconds() * 2.0 ** min(trips - 1, 64)
    return longest if doubled >= longest.total_seconds() else timedelta(seconds=doubled)


def open_manually(
    breaker: Breaker, now: datetime, *, until_at: datetime | None, reason: str | None, probes: int
) -> Breaker:
    """Opened by a person: no answer closes it before `until_at`, without one nothing but a person does."""
    return replace(
        breaker, state=CircuitState.OPEN, since_at=now, until_at=until_at, probes=probes, reason=reason, by_hand=True
    )


def close_manually(breaker: Breaker, now: datetime) -> Breaker:
    """Closed by a person: failures are forgotten; trips are kept until the service answers well, as nobody asked it."""
    return breaker if breaker.state is CircuitState.CLOSED and not breaker.failures else _close(breaker, now)


def _close(breaker: Breaker, now: datetime) -> Breaker:
    """Closed from now on, with nothing counted."""
    since_at = breaker.since_at if breaker.state is CircuitState.CLOSED else now
    return replace(
        breaker, state=CircuitState.CLOSED, since_at=since_at, until_at=None, failures=(), reason=None, by_hand=False
    )


def reset_breaker(breaker: Breaker) -> Breaker:
    """As new: nothing is remembered but whose it is."""
    return Breaker(service=breaker.service)
