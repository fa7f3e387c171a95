"""How long somebody who guesses has to wait, and when a session or a key is over."""

from dataclasses import dataclass
from datetime import datetime, timedelta

SESSION_IDLE_LIMIT = timedelta(hours=12)  # a session that nobody uses
SESSION_LIFETIME = timedelta(days=14)  # a session that somebody does
SIGN_IN_LINK_LIFETIME = timedelta(minutes=10)  # a sign-in link that nobody follows
LAST_USED_PRECISION = timedelta(minutes=1)  # how exactly it is known when something was last used
MAX_DOUBLINGS = 30


@dataclass(frozen=True, slots=True)
class ThrottlePolicy:
    """So many failures are free; then one waits, twice as long each time, up to the longest."""

    free: int
    first: timedelta = timedelta(seconds=1)
    longest: timedelta = timedelta(minutes=15)
    forgotten_after: timedelta = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class LoginFailures:
    """What failed in a row, and when the last of it did."""

    failures: int = 0
    last_at: datetime | None = None


USER_POLICY = ThrottlePolicy(free=5)
ADDRESS_POLICY = ThrottlePolicy(free=20)


def get_next_attempt_time(tries: LoginFailures, patience: ThrottlePolicy) -> datetime | None:
    """When the next try may be made; None: at any time."""
    if tries.last_at is None or tries.failures < patience.free:
        return None
    doubled: int = 2 ** min(tries.failures - patience.free, MAX_DOUBLINGS)
    return tries.last_at + min(patience.longest, patience.first * doubled)


def record_failure(tries: LoginFailures, patience: ThrottlePolicy, now: datetime) -> LoginFailures:
    """With one more failure; what lies long enough behind does not count."""
    fresh = tries.last_at is not None and now - tries.last_at < patience.forgotten_after
    return LoginFailures(tries.failures + 1 if fresh else 1, now)


def is_expired(expires_at: datetime | None, now: datetime) -> bool:
    return expires_at is not None and expires_at <= now


def is_idle(seen_at: datetime, now: datetime) -> bool:
    return now - seen_at >= SESSION_IDLE_LIMIT


def is_worth_recording(noted_at: datetime | None, now: datetime) -> bool:
    """A key that is used a thousand times a second is not written a thousand times a second."""
    return noted_at is None or now - noted_at >= LAST_USED_PRECISION
