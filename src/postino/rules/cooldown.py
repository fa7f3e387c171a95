"""How long an account, or a whole network, is left alone after it said "too many"."""

from datetime import datetime, timedelta

from postino.rules.failures import MAX_WAIT
from postino.rules.ledger import DEFAULT_COOLDOWN

MIN_WAIT = timedelta(seconds=1)  # networks count in whole seconds
MAX_DEFAULT_WAIT = timedelta(hours=1)  # without a word about how long
MIN_CALM = timedelta(minutes=10)  # without another "too many", after which it counts from one again


def extend_cooldown(
    asked: datetime | None, times: int, last_until_at: datetime | None, now: datetime
) -> tuple[datetime, int]:
    """Until when nothing is sent, and the how-many-th in a row this is. `times` counts those before it.

    What was asked for is kept and never cut short, nor is a cool-down that already lasts longer. Whoever is told to
    come back at once, or at a time that has passed, waits a moment all the same, and longer each time: clocks differ.
    """
    wanted = min(asked, now + MAX_WAIT) if asked is not None and asked > now else None
    at_once = asked is not None and asked <= now
    if times > 0 and last_until_at is not None and now < last_until_at:
        # The answer to a call that had left before the cool-down began: fifty at once are one "too many", not fifty.
        return max(last_until_at, wanted or last_until_at), times
    count = times + 1 if _is_consecutive(times, last_until_at, now) else 1
    until = wanted or now + (_double(MIN_WAIT, count) if at_once else _compute_default_wait(count))
    return max(until, last_until_at or until), count


def _is_consecutive(times: int, last_until_at: datetime | None, now: datetime) -> bool:
    calm = max(_compute_default_wait(times), MIN_CALM)
    return last_until_at is not None and now < last_until_at + calm


def _compute_default_wait(count: int) -> timedelta:
    return _double(DEFAULT_COOLDOWN, count)


def _double(first: timedelta, count: int) -> timedelta:
    # The exponent is bounded because a timedelta overflows long before a patient network gives in.
    return min(first * (1 << min(max(count - 1, 0), 16)), MAX_DEFAULT_WAIT)
