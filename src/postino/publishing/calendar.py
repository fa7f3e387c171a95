"""The calendar: local days, each with its first posts and the number of all its posts."""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from postino.errors import WrongUse
from postino.publishing.contents import load_body
from postino.rules.local_time import resolve_local_time
from postino.rules.post_status import STATUS
from postino.stores.store import Store
from postino.values.post import CalendarDay, CalendarEntry, DayBounds
from postino.values.time_zones import get_zone

MAX_DAYS = 100
MAX_ENTRIES = 1_000  # in one response
MAX_COUNT = 1_000  # posts of one day are counted up to this number
EXCERPT_LENGTH = 120
FIRST_DAY, LAST_DAY = date(1970, 1, 2), date(9998, 12, 30)
ONE_DAY = timedelta(days=1)
ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class CalendarService:
    def __init__(self, store: Store) -> None:
        self.store = store

    async def list_days(
        self, first: date, last: date, timezone: str, brands: frozenset[str] | None, limit: int
    ) -> list[dict[str, Any]]:
        """Return all days from the first to the last, both included, each with at most `limit` posts."""
        days = list_dates(first, last)
        windows = [to_window(day, timezone) for day in days]
        rows = await self.store.calendar(windows, brands, min(limit, MAX_ENTRIES // len(days)))
        return [render_day(day, window, row, timezone) for day, window, row in zip(days, windows, rows, strict=True)]


def list_dates(first: date, last: date) -> list[date]:
    if last < first:
        raise WrongUse(f"to: {last} is before {first}, which is `from`.", field="to")
    if (last - first).days >= MAX_DAYS:
        message = f"{first} to {last} are {(last - first).days + 1} days"
        raise WrongUse(f"to: {message}; a calendar shows at most {MAX_DAYS} at once.", field="to")
    return [first + ONE_DAY * number for number in range((last - first).days + 1)]


def to_window(day: date, timezone: str) -> DayBounds:
    """Return the instants from midnight to midnight, local time. A day may have 23 or 25 hours, or none."""
    return DayBounds(find_midnight(day, timezone), find_midnight(day + ONE_DAY, timezone))


def find_midnight(day: date, timezone: str) -> datetime:
    return resolve_local_time(datetime.combine(day, time()), timezone).at


def render_day(day: date, window: DayBounds, row: CalendarDay, timezone: str) -> dict[str, Any]:
    return {
        "date": day.isoformat(),
        "from": format_instant(window.from_at),
        "to": format_instant(window.to_at),
        "count": min(row.posts, MAX_COUNT),
        "count_is_exact": row.posts <= MAX_COUNT,
        "has_more": row.posts > len(row.entries),
        "posts": [render_entry(entry, timezone) for entry in row.entries],
    }


def render_entry(entry: CalendarEntry, timezone: str) -> dict[str, Any]:
    text = load_body(entry.content)
    return {
        "id": str(entry.id),
        "status": STATUS[entry.state].value,
        "network": entry.network,
        "account": entry.account,
        "scheduled_at": format_instant(entry.scheduled_at),
        "local_time": entry.scheduled_at.astimezone(get_zone(timezone)).isoformat(timespec="seconds"),
        "text": text if len(text) <= EXCERPT_LENGTH else f"{text[: EXCERPT_LENGTH - 1]}…",
    }


def format_instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def parse_days(first: str | None, last: str | None) -> Sequence[date]:
    return [parse_day(first, "from"), parse_day(last, "to")]


def parse_day(text: str | None, field: str) -> date:
    if text is None:
        raise WrongUse(f"{field} is missing: give a day such as 2026-03-29.", field=field)
    try:
        day = date.fromisoformat(text) if ISO_DATE.fullmatch(text) else None
    except ValueError:
        day = None
    if day is None or not FIRST_DAY <= day <= LAST_DAY:
        raise WrongUse(f"{field}: {text[:40]!r} is not a day: write it like 2026-03-29.", field=field)
    return day
