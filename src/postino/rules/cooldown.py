"""Decide how long a cooldown lasts after a network rate-limited an account or all accounts."""

from datetime import datetime, timedelta

from postino.rules.failures import MAX_WAIT
from postino.rules.ledger import DEFAULT_COOLDOWN

MIN_WAIT = timedelta(seconds=1)  # networks count in whole seconds
MAX_DEFAULT_WAIT = timedelta(hours=1)  # if the network does not say how long
MIN_CALM = timedelta(minutes=10)  # without another rate limit, after which counting starts again


def extend_cooldown(
    asked: datetime | None, times: int, last_until_at: datetime | None, now: datetime
) -> tuple[datetime, int]:
    """Return when the cooldown ends, and its number in a row. `times` counts the earlier ones.

    The time that the network asked for is never cut short, nor is a longer cooldown. If that time has passed already,
    the cooldown lasts a second, and twice as long each time: clocks differ.
    """
    requested = min(asked, now + MAX_WAIT) if asked is not None and asked > now else None
    at_once = asked is not None and asked <= now
    if times > 0 and last_until_at is not None and now < last_until_at:
        # The response to a request from before the cooldown: fifty concurrent ones count as one rate limit.
        return max(last_until_at, requested or last_until_at), times
    count = times + 1 if _is_consecutive(times, last_until_at, now) else 1
    until = requested or now + (_double(MIN_WAIT, count) if at_once else _compute_default_wait(count))
    return max(until, last_until_at or until), count


def _is_consecutive(times: int, last_until_at: datetime | None, now: datetime) -> bool:
    calm = max(_compute_default_wait(times), MIN_CALM)
    return last_until_at is not None and now < last_until_at + calm


def _compute_default_wait(count: int) -> timedelta:
    return _double(DEFAULT_COOLDOWN, count)


def _double(first: timedelta, count: int) -> timedelta:
    # The exponent is bounded because a timedelta overflows long before a patient network gives in.
    return min(first * (1 << min(max(count - 1, 0), 16)), MAX_DEFAULT_WAIT)
