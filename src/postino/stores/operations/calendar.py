"""The calendar: the first posts of each day and how many there are."""

from collections.abc import Sequence

from postino.stores.statement import Operation, Row, ask, each
from postino.values.job import State
from postino.values.post import CalendarDay, CalendarEntry, DayBounds, PageCursor

MAX_COUNTED = 1_000


def read_calendar(days: Sequence[DayBounds], brands: frozenset[str] | None, most: int) -> Operation[list[CalendarDay]]:
    """Return at most `most` posts of every day, and counts up to a bound."""
    windows = [
        {"day": number, "from_at": day.from_at, "to_at": day.to_at, "brand": brand}
        for number, day in enumerate(days)
        for brand in ([None] if brands is None else sorted(brands))
    ]
    places: list[list[PageCursor]] = [[] for _ in days]
    for row in (yield each("find_calendar_posts", windows, limit=most)):
        places[row["day"]].append(PageCursor(row["id"], row["scheduled_at"]))
    first = [[place.id for place in sorted(day, key=lambda place: (place.at, place.id))[:most]] for day in places]
    counts = [0] * len(days)
    for row in (yield each("count_calendar_posts", windows, most=MAX_COUNTED + 1)):
        counts[row["day"]] += row["posts"]
    rows = yield ask("get_calendar_entries", ids=[post_id for ids in first for post_id in ids])
    # A post without a state is just ending.
    entries_by_id = {row["id"]: to_calendar_entry(row) for row in rows if row["state"] is not None}
    entries = ([entries_by_id[post_id] for post_id in ids if post_id in entries_by_id] for ids in first)
    return [CalendarDay(shown, count) for shown, count in zip(entries, counts, strict=True)]


def to_calendar_entry(row: Row) -> CalendarEntry:
    """Return the calendar entry in a row."""
    values = {name: row[name] for name in CalendarEntry.__slots__}
    return CalendarEntry(**{**values, "state": State(row["state"])})
