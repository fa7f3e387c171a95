"""Decide how long sessions and sign-in links last, and how long to wait after failed sign-ins."""

from dataclasses import dataclass
from datetime import datetime, timedelta

SESSION_IDLE_LIMIT = timedelta(hours=12)  # an unused session ends after this
SESSION_LIFETIME = timedelta(days=14)  # any session ends after this
SIGN_IN_LINK_LIFETIME = timedelta(minutes=10)  # an unused sign-in link ends after this
LAST_USED_PRECISION = timedelta(minutes=1)  # of the time of last use
MAX_DOUBLINGS = 30


@dataclass(frozen=True, slots=True)
class ThrottlePolicy:
    """How many failures are free, and how the wait after that doubles up to a maximum."""

    free: int
    first: timedelta = timedelta(seconds=1)
    longest: timedelta = timedelta(minutes=15)
    forgotten_after: timedelta = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class LoginFailures:
    """Failed logins in a row, and the time of the last one."""

    failures: int = 0
    last_at: datetime | None = None


USER_POLICY = ThrottlePolicy(free=5)
ADDRESS_POLICY = ThrottlePolicy(free=20)


def get_next_attempt_time(tries: LoginFailures, policy: ThrottlePolicy) -> datetime | None:
    """Return when the next login may be attempted; None: at any time."""
    if tries.last_at is None or tries.failures < policy.free:
        return None
    doubled: int = 2 ** min(tries.failures - policy.free, MAX_DOUBLINGS)
    return tries.last_at + min(policy.longest, policy.first * doubled)


def record_failure(tries: LoginFailures, policy: ThrottlePolicy, now: datetime) -> LoginFailures:
    """Return the failures with one more; old ones are forgotten."""
    fresh = tries.last_at is not None and now - tries.last_at < policy.forgotten_after
    return LoginFailures(tries.failures + 1 if fresh else 1, now)


def is_expired(expires_at: datetime | None, now: datetime) -> bool:
    return expires_at is not None and expires_at <= now


def is_idle(seen_at: datetime, now: datetime) -> bool:
    return now - seen_at >= SESSION_IDLE_LIMIT


def is_worth_recording(noted_at: datetime | None, now: datetime) -> bool:
    """Return whether to store the time of use: a busy API key must not cause a write per request."""
    return noted_at is None or now - noted_at >= LAST_USED_PRECISION
