"""Finding posts: by the index that fits best, and never through more posts than one answer is worth."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from postino.errors import NotFound
from postino.stores import rows
from postino.stores.statement import Operation, Row, ask, each
from postino.values.job import State
from postino.values.post import AccountState, Day, Entry, Place, PostFilter, PostPage, StoredPost, Window, no_post

FIRST, LAST = UUID(int=0), UUID(int=2**128 - 1)
BEGINNING, END = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
LIVE = {State.PENDING: "pending", State.RUNNING: "running", State.UNCERTAIN: "uncertain"}
MOST_WALKED = 10_000  # posts that one answer looks through
MOST_READ = 5_000  # where each of them costs a look at what it says
MOST_COUNTED = 1_000
MOST_BRANDS = 20  # each a way of its own; of more, whatever comes is looked at
PHASES = ["cancelled", "completed", "failed", "live"]


@dataclass(frozen=True, slots=True)
class Walk:
    """What a walk over some posts found, and where it stopped; None: at the end."""

    found: Sequence[Place]
    stopped: Place | None


def get(post_id: UUID) -> Operation[StoredPost]:
    found = yield from by_ids([post_id])
    if not found:
        raise NotFound(no_post(post_id))
    return found[0]


def by_ids(ids: Sequence[UUID]) -> Operation[list[StoredPost]]:
    """In the order of their ids as they were asked for."""
    if not ids:
        return []
    jobs = {row["id"]: row for row in (yield ask("find_by_ids", ids=[*ids]))}
    beside = yield ask("posts", ids=[*ids])
    there = {row["id"]: stored_post(jobs[row["id"]], row) for row in beside if row["id"] in jobs}
    return [there[post_id] for post_id in ids if post_id in there]


def all_posts(wanted: PostFilter) -> Operation[list[StoredPost]]:
    """However far it is to the last that fits."""
    found: list[Place] = []
    place: Place | None = place_of(wanted)
    there = [*ways(wanted)]
    scan = wanted.limit
    while place is not None and len(found) < wanted.limit:
        walk = yield from walked(wanted, there, place, scan)
        found, place, scan = [*found, *walk.found], walk.stopped, max(wanted.limit, MOST_WALKED // max(1, len(there)))
    return (yield from by_ids([place.id for place in found[: wanted.limit]]))


def page(wanted: PostFilter) -> Operation[PostPage]:
    found: list[Place] = []
    place: Place | None = place_of(wanted)
    there = [*ways(wanted)]
    scan, left = wanted.limit + 1, MOST_WALKED if wanted.words is None else MOST_READ
    while place is not None and scan > 0 and len(found) <= wanted.limit:
        walk = yield from walked(wanted, there, place, scan)
        found, place, left = [*found, *walk.found], walk.stopped, max(0, left - scan * len(there))
        scan = further(scan, len(walk.found), wanted.limit + 1 - len(found), left // max(1, len(there)))
    if len(found) > wanted.limit:
        found = found[: wanted.limit]
        place = found[-1]
    return PostPage((yield from by_ids([one.id for one in found])), place)


def further(scanned: int, fitting: int, missing: int, left: int) -> int:
    """How far to go on each way: for what is missing, by how rare it was so far, and then some; else all there is."""
    return min(left, max(2 * scanned, 2 * missing * scanned // fitting)) if fitting else left


def walked(wanted: PostFilter, there: Sequence[Mapping[str, Any]], place: Place, scan: int) -> Operation[Walk]:
    """One step of the walk, on all its ways: nothing behind the place where the first of them stopped counts yet."""
    walks = []
    for way in there:
        name = "walk_posts_by_time" if wanted.by_time else "walk_posts"
        reached = {"before": place.id, "before_at": place.at, "scan": scan}
        found = yield ask(name, **said(wanted), **reached, **way)
        fitting = [Place(row["id"], row["scheduled_at"]) for row in found if row["fits"]]
        over = not found or found[0]["walked"] < scan
        walks.append(Walk(fitting, None if over else Place(found[-1]["id"], found[-1]["scheduled_at"])))

    def order(one: Place) -> Any:
        return (one.at, one.id) if wanted.by_time else one.id

    stopped = max((walk.stopped for walk in walks if walk.stopped), key=order, default=None)
    merged = sorted((one for walk in walks for one in walk.found), key=order, reverse=True)
    return Walk([one for one in merged if stopped is None or order(one) >= order(stopped)], stopped)


def place_of(wanted: PostFilter) -> Place:
    """Before which to begin: the cursor or, by time, the end of what is wanted."""
    end = Place(FIRST, wanted.to_at) if wanted.to_at is not None else Place(LAST, END)
    if wanted.before is None:
        return end if wanted.by_time else Place(LAST, END)
    return Place(wanted.before, wanted.before_at or END)


def ways(wanted: PostFilter) -> Iterator[Mapping[str, Any]]:
    """The index that leaves the least to walk over: one way for each phase, and for each brand that may be seen."""
    brands, states = brands_of(wanted), set(wanted.states)
    phases = [None] if wanted.by_time else phases_of(wanted.states) or PHASES
    if wanted.content_id is not None and not wanted.by_time:
        yield way("content")
    elif states and states <= {State.RUNNING, State.UNCERTAIN}:
        yield way("busy", busy=sorted(states))
    elif wanted.account is not None:
        yield from (way("account", phase=phase) for phase in phases)
    elif brands is not None and len(brands) <= MOST_BRANDS:
        yield from (way("brand", brand=brand, phase=phase) for brand in brands for phase in phases)
    elif wanted.network is not None and not wanted.by_time:
        yield from (way("network", phase=phase) for phase in phases)
    else:
        yield from (way("all" if phase is None else "phase", phase=phase) for phase in phases)


def way(name: str, *, brand: str | None = None, phase: str | None = None, busy: Sequence[str] = ()) -> dict[str, Any]:
    return {"way": name, "brand": brand, "phase": phase, "busy": list(busy)}


def brands_of(wanted: PostFilter) -> list[str] | None:
    if wanted.brand is None:
        return None if wanted.brands is None else sorted(wanted.brands)
    return [wanted.brand] if wanted.brands is None or wanted.brand in wanted.brands else []


def phases_of(states: Sequence[State]) -> list[str]:
    return sorted({"live" if state in LIVE else state.value for state in states})


def said(wanted: PostFilter) -> dict[str, Any]:
    states = wanted.states
    return {
        "network": wanted.network,
        "account": wanted.account,
        "brands": brands_of(wanted),
        "content_id": wanted.content_id,
        "phases": phases_of(states) or None,
        "states": [LIVE[state] for state in states if state in LIVE],
        "words": wanted.words,
        "from_at": wanted.from_at or BEGINNING,
    }


def calendar(days: Sequence[Window], brands: frozenset[str] | None, most: int) -> Operation[list[Day]]:
    wanted = [
        {"day": number, "from_at": day.from_at, "to_at": day.to_at, "brand": brand}
        for number, day in enumerate(days)
        for brand in ([None] if brands is None else sorted(brands))
    ]
    places: list[list[Place]] = [[] for _ in days]
    for row in (yield each("calendar", wanted, limit=most)):
        places[row["day"]].append(Place(row["id"], row["scheduled_at"]))
    first = [[one.id for one in sorted(those, key=lambda one: (one.at, one.id))[:most]] for those in places]
    counts = [0] * len(days)
    for row in (yield each("count_calendar", wanted, most=MOST_COUNTED + 1)):
        counts[row["day"]] += row["posts"]
    found = yield ask("calendar_entries", ids=[post_id for those in first for post_id in those])
    there = {row["id"]: entry_of(row) for row in found if row["state"] is not None}  # None: it is just ending
    entries = ([there[post_id] for post_id in those if post_id in there] for those in first)
    return [Day(those, counted) for those, counted in zip(entries, counts, strict=True)]


def entry_of(row: Row) -> Entry:
    told = {name: row[name] for name in Entry.__slots__}
    return Entry(**{**told, "state": State(row["state"])})


def stored_post(job: Row, row: Row) -> StoredPost:
    return StoredPost(
        job=rows.any_job(job),
        content_id=row["content_id"],
        content=row["content"],
        version=row["version"],
        publish_until_at=row["publish_until_at"],
        account_state=None if row["account_state"] is None else AccountState(row["account_state"]),
    )
