"""Decide how long a cooldown lasts after a network rate-limited an account or all accounts."""

from datetime import datetime, timedelta

from postino.rules.failures import MAX_WAIT

DEFAULT_COOLDOWN = timedelta(seconds=60)  # if the network does not say how long
MIN_WAIT = timedelta(seconds=5)  # if the time that the network named has passed: clocks differ, or it said "0"
MAX_DEFAULT_WAIT = timedelta(hours=1)  # if the network does not say how long
MIN_CALM = timedelta(minutes=10)  # without another rate limit, after which counting starts again


def extend_cooldown(
    asked: datetime | None, times: int, last_until_at: datetime | None, now: datetime
) -> tuple[datetime, int]:
    """Return when the cooldown ends, and how many rate limits in a row, `times` before it, came without a time.

    Only those double the wait. A time that the network asked for is never cut short, nor is a longer cooldown.
    """
    requested = None if asked is None else min(asked, now + MAX_WAIT) if asked > now else now + MIN_WAIT
    if last_until_at is not None and now < last_until_at:
        # The response to a request from before the cooldown: fifty concurrent ones count as one rate limit.
        return max(last_until_at, requested or last_until_at), times
    earlier = times if _is_consecutive(times, last_until_at, now) else 0
    if requested is not None:
        return requested, earlier
    count = earlier + 1
    return now + _compute_default_wait(count), count


def _is_consecutive(times: int, last_until_at: datetime | None, now: datetime) -> bool:
    calm = max(_compute_default_wait(times), MIN_CALM)
    return last_until_at is not None and now < last_until_at + calm


def _compute_default_wait(count: int) -> timedelta:
    # The exponent is bounded because a timedelta overflows long before a patient network gives in.
    return min(DEFAULT_COOLDOWN * (1 << min(max(count - 1, 0), 16)), MAX_DEFAULT_WAIT)
