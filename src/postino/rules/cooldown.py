"""How long an account, or a whole network, is left alone after it said "too many"."""

from datetime import datetime, timedelta

from postino.rules.failures import LONGEST_WAIT
from postino.rules.ledger import COOL_DOWN

SHORTEST_WAIT = timedelta(seconds=1)  # networks count in whole seconds
LONGEST_GUESS = timedelta(hours=1)  # without a word about how long
SHORTEST_CALM = timedelta(minutes=10)  # without another "too many", after which it counts from one again


def cooled_until(
    asked: datetime | None, times: int, last_until_at: datetime | None, now: datetime
) -> tuple[datetime, int]:
    """Until when nothing is sent, and the how-many-th in a row this is. `times` counts those before it.

    What was asked for is kept and never cut short, nor is a cool-down that already lasts longer. Whoever is told to
    come back at once, or at a time that has passed, waits a moment all the same, and longer each time: clocks differ.
    """
    wanted = min(asked, now + LONGEST_WAIT) if asked is not None and asked > now else None
    at_once = asked is not None and asked <= now
    if times > 0 and last_until_at is not None and now < last_until_at:
        # The answer to a call that had left before the cool-down began: fifty at once are one "too many", not fifty.
        return max(last_until_at, wanted or last_until_at), times
    count = times + 1 if _in_a_row(times, last_until_at, now) else 1
    until = wanted or now + (_doubled(SHORTEST_WAIT, count) if at_once else _guess(count))
    return max(until, last_until_at or until), count


def _in_a_row(times: int, last_until_at: datetime | None, now: datetime) -> bool:
    calm = max(_guess(times), SHORTEST_CALM)
    return last_until_at is not None and now < last_until_at + calm


def _guess(count: int) -> timedelta:
    return _doubled(COOL_DOWN, count)


def _doubled(first: timedelta, count: int) -> timedelta:
    # The exponent is bounded because a timedelta overflows long before a patient network gives in.
    return min(first * (1 << min(max(count - 1, 0), 16)), LONGEST_GUESS)
