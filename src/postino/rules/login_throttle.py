"""How long somebody who guesses has to wait, and when a session or a key is over."""

from dataclasses import dataclass
from datetime import datetime, timedelta

IDLE = timedelta(hours=12)  # a session that nobody uses
LONGEST = timedelta(days=14)  # a session that somebody does
LINK = timedelta(minutes=10)  # a sign-in link that nobody follows
NOTED_EVERY = timedelta(minutes=1)  # how exactly it is known when something was last used
MOST_DOUBLINGS = 30


@dataclass(frozen=True, slots=True)
class Patience:
    """So many failures are free; then one waits, twice as long each time, up to the longest."""

    free: int
    first: timedelta = timedelta(seconds=1)
    longest: timedelta = timedelta(minutes=15)
    forgotten_after: timedelta = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Tries:
    """What failed in a row, and when the last of it did."""

    failures: int = 0
    last_at: datetime | None = None


USER = Patience(free=5)
ADDRESS = Patience(free=20)


def until(tries: Tries, patience: Patience) -> datetime | None:
    """When the next try may be made; None: at any time."""
    if tries.last_at is None or tries.failures < patience.free:
        return None
    doubled: int = 2 ** min(tries.failures - patience.free, MOST_DOUBLINGS)
    return tries.last_at + min(patience.longest, patience.first * doubled)


def failed(tries: Tries, patience: Patience, now: datetime) -> Tries:
    """With one more failure; what lies long enough behind does not count."""
    fresh = tries.last_at is not None and now - tries.last_at < patience.forgotten_after
    return Tries(tries.failures + 1 if fresh else 1, now)


def is_over(expires_at: datetime | None, now: datetime) -> bool:
    return expires_at is not None and expires_at <= now


def is_idle(seen_at: datetime, now: datetime) -> bool:
    return now - seen_at >= IDLE


def worth_noting(noted_at: datetime | None, now: datetime) -> bool:
    """A key that is used a thousand times a second is not written a thousand times a second."""
    return noted_at is None or now - noted_at >= NOTED_EVERY
