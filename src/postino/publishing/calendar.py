"""The calendar: local days, each with its first posts and how many there are."""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from postino.errors import WrongUse
from postino.publishing.contents import body_of
from postino.rules.local_time import resolve
from postino.rules.post_status import STATUS
from postino.stores.store import Store
from postino.values.post import Day, Entry, Window
from postino.values.time_zones import zone

MOST_DAYS = 100
MOST_ENTRIES = 1_000  # in one answer
MOST_COUNTED = 1_000  # a day has more than anybody counts
EXCERPT = 120
FIRST_DAY, LAST_DAY = date(1970, 1, 2), date(9998, 12, 30)
ONE_DAY = timedelta(days=1)
WRITTEN = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class CalendarService:
    def __init__(self, store: Store) -> None:
        self.store = store

    async def show(
        self, first: date, last: date, timezone: str, brands: frozenset[str] | None, most: int
    ) -> list[dict[str, Any]]:
        """All days from the first to the last, both included."""
        days = days_between(first, last)
        windows = [window_of(day, timezone) for day in days]
        found = await self.store.calendar(windows, brands, min(most, MOST_ENTRIES // len(days)))
        return [told(day, window, those, timezone) for day, window, those in zip(days, windows, found, strict=True)]


def days_between(first: date, last: date) -> list[date]:
    if last < first:
        raise WrongUse(f"to: {last} is before {first}, which is `from`.", field="to")
    if (last - first).days >= MOST_DAYS:
        told = f"{first} to {last} are {(last - first).days + 1} days"
        raise WrongUse(f"to: {told}; a calendar shows at most {MOST_DAYS} at once.", field="to")
    return [first + ONE_DAY * number for number in range((last - first).days + 1)]


def window_of(day: date, timezone: str) -> Window:
    """From its midnight to the next one, as the clocks there show it: a day may have 23 hours, or 25, or none."""
    return Window(midnight(day, timezone), midnight(day + ONE_DAY, timezone))


def midnight(day: date, timezone: str) -> datetime:
    return resolve(datetime.combine(day, time()), timezone).at


def told(day: date, window: Window, found: Day, timezone: str) -> dict[str, Any]:
    return {
        "date": day.isoformat(),
        "from": instant(window.from_at),
        "to": instant(window.to_at),
        "count": min(found.posts, MOST_COUNTED),
        "count_is_exact": found.posts <= MOST_COUNTED,
        "has_more": found.posts > len(found.entries),
        "posts": [of_entry(entry, timezone) for entry in found.entries],
    }


def of_entry(entry: Entry, timezone: str) -> dict[str, Any]:
    text = body_of(entry.content)
    return {
        "id": str(entry.id),
        "status": STATUS[entry.state].value,
        "network": entry.network,
        "account": entry.account,
        "scheduled_at": instant(entry.scheduled_at),
        "local_time": entry.scheduled_at.astimezone(zone(timezone)).isoformat(timespec="seconds"),
        "text": text if len(text) <= EXCERPT else f"{text[: EXCERPT - 1]}…",
    }


def instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def parse_days(first: str | None, last: str | None) -> Sequence[date]:
    return [day_from(first, "from"), day_from(last, "to")]


def day_from(text: str | None, field: str) -> date:
    if text is None:
        raise WrongUse(f"{field} is missing: a day such as 2026-03-29.", field=field)
    try:
        day = date.fromisoformat(text) if WRITTEN.fullmatch(text) else None
    except ValueError:
        day = None
    if day is None or not FIRST_DAY <= day <= LAST_DAY:
        raise WrongUse(f"{field}: {text[:40]!r} is no day: write it like 2026-03-29.", field=field)
    return day
