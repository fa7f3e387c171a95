"""Finding posts: by the index that fits best, and never through more posts than one answer is worth."""

from collections.abc import Sequence

from postino.stores.statement import Operation, Row, ask, each
from postino.values.job import State
from postino.values.post import Day, Entry, Place, Window

MAX_COUNTED = 1_000


def read_calendar(days: Sequence[Window], brands: frozenset[str] | None, most: int) -> Operation[list[Day]]:
    wanted = [
        {"day": number, "from_at": day.from_at, "to_at": day.to_at, "brand": brand}
        for number, day in enumerate(days)
        for brand in ([None] if brands is None else sorted(brands))
    ]
    places: list[list[Place]] = [[] for _ in days]
    for row in (yield each("find_calendar_posts", wanted, limit=most)):
        places[row["day"]].append(Place(row["id"], row["scheduled_at"]))
    first = [[one.id for one in sorted(those, key=lambda one: (one.at, one.id))[:most]] for those in places]
    counts = [0] * len(days)
    for row in (yield each("count_calendar_posts", wanted, most=MAX_COUNTED + 1)):
        counts[row["day"]] += row["posts"]
    found = yield ask("get_calendar_entries", ids=[post_id for those in first for post_id in those])
    there = {row["id"]: to_calendar_entry(row) for row in found if row["state"] is not None}  # None: it is just ending
    entries = ([there[post_id] for post_id in those if post_id in there] for those in first)
    return [Day(those, counted) for those, counted in zip(entries, counts, strict=True)]


def to_calendar_entry(row: Row) -> Entry:
    told = {name: row[name] for name in Entry.__slots__}
    return Entry(**{**told, "state": State(row["state"])})
