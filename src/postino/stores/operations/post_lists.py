"""Lists and pages of posts: scan the index that fits best, and a bounded number of posts for each page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from postino.stores.operations.pagination import FIRST_ID, LAST_ID, count_fitting, next_scan_size
from postino.stores.operations.posts import find_posts
from postino.stores.statement import Operation, ask
from postino.values.job import State
from postino.values.post import PageCursor, PostFilter, PostPage, StoredPost

BEGINNING, END = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
UNFINISHED = (State.PENDING, State.RUNNING, State.UNCERTAIN)
UNFINISHED_PHASE = "live"  # as the database stores it
MAX_SCANNED = 10_000  # posts that one page reads
MAX_SEARCHED = 5_000  # where the text of each is searched
MAX_BRANDS = 20  # each is one index scan; with more brands, one scan reads the posts of all brands
PHASES = ["cancelled", "completed", "failed", UNFINISHED_PHASE]


@dataclass(frozen=True, slots=True)
class Walk:
    """The matching places of a scan, and where it stopped; None at the end."""

    matches: Sequence[PageCursor]
    stopped: PageCursor | None


def list_posts(filter: PostFilter) -> Operation[list[StoredPost]]:
    """Return the posts that match the filter, however far the scan must go."""
    places: list[PageCursor] = []
    place: PageCursor | None = find_start(filter)
    indexes = [*choose_indexes(filter, own_account=(yield from is_own_account(filter)))]
    scan = filter.limit
    while place is not None and len(places) < filter.limit:
        walk = yield from walk_posts(filter, indexes, place, scan)
        places, place, scan = (
            [*places, *walk.matches],
            walk.stopped,
            max(filter.limit, MAX_SCANNED // max(1, len(indexes))),
        )
    return (yield from find_posts([place.id for place in places[: filter.limit]]))


def get_posts_page(filter: PostFilter) -> Operation[PostPage]:
    """Return one page of the posts that match the filter; a page may be empty and still have a next one.

    A page with large contents is shorter. What one network publishes of a content is bounded by the network's limits.
    """
    places: list[PageCursor] = []
    place: PageCursor | None = find_start(filter)
    indexes = [*choose_indexes(filter, own_account=(yield from is_own_account(filter)))]
    scan, left = filter.limit + 1, MAX_SCANNED if filter.words is None else MAX_SEARCHED
    while place is not None and scan > 0 and len(places) <= filter.limit:
        walk = yield from walk_posts(filter, indexes, place, scan)
        places, place, left = [*places, *walk.matches], walk.stopped, max(0, left - scan * len(indexes))
        scan = next_scan_size(scan, len(walk.matches), filter.limit + 1 - len(places), left // max(1, len(indexes)))
    ids = [place.id for place in places]
    sizes = {row["id"]: row["bytes"] for row in (yield ask("measure_posts", ids=ids))} if ids else {}
    count = min(filter.limit, count_fitting(sizes.get(place.id, 0) for place in places))
    if len(places) > count:
        places = places[:count]
        place = places[-1]
    return PostPage((yield from find_posts([place.id for place in places])), place)


def walk_posts(
    filter: PostFilter, indexes: Sequence[Mapping[str, Any]], place: PageCursor, scan: int
) -> Operation[Walk]:
    """Scan one step on every index; posts behind the place where the first index stopped are left for the next step."""
    walks = []
    for index in indexes:
        name = "scan_posts_by_time" if filter.by_time else "scan_posts"
        reached = {"before": place.id, "before_at": place.at, "scan": scan}
        rows = yield ask(name, **make_filter_params(filter), **reached, **index)
        matches = [PageCursor(row["id"], row["scheduled_at"]) for row in rows if row["fits"]]
        over = not rows or rows[0]["walked"] < scan
        walks.append(Walk(matches, None if over else PageCursor(rows[-1]["id"], rows[-1]["scheduled_at"])))

    def order(place: PageCursor) -> Any:
        return (place.at, place.id) if filter.by_time else place.id

    stopped = max((walk.stopped for walk in walks if walk.stopped), key=order, default=None)
    merged = sorted((place for walk in walks for place in walk.matches), key=order, reverse=True)
    return Walk([place for place in merged if stopped is None or order(place) >= order(stopped)], stopped)


def find_start(filter: PostFilter) -> PageCursor:
    """Return the place before which to begin: the cursor or, in order of time, the end of the range."""
    end = PageCursor(FIRST_ID, filter.to_at) if filter.to_at is not None else PageCursor(LAST_ID, END)
    if filter.before is None:
        return end if filter.by_time else PageCursor(LAST_ID, END)
    return PageCursor(filter.before, filter.before_at or END)


def is_own_account(filter: PostFilter) -> Operation[bool]:
    """Return whether the account in the filter belongs to one of its brands.

    Else a scan of the account's posts would end at a post of another brand, and give the caller its id as a cursor.
    """
    if filter.account is None or filter.brands is None:
        return True
    rows = yield ask("find_accounts", ids=[filter.account])
    return any(row["brand"] in filter.brands for row in rows)


def choose_indexes(filter: PostFilter, *, own_account: bool = True) -> Iterator[Mapping[str, Any]]:
    """Yield the index scans that read the fewest posts: one for each phase, and for each visible brand."""
    brands, states = get_visible_brands(filter), set(filter.states)
    phases = [None] if filter.by_time else to_phases(filter.states) or PHASES
    if filter.content_id is not None and not filter.by_time:
        yield make_index_params("content")
    elif states and states <= {State.RUNNING, State.UNCERTAIN}:
        yield make_index_params("busy", busy=sorted(states))
    elif filter.account is not None and own_account:
        yield from (make_index_params("account", phase=phase) for phase in phases)
    elif brands is not None and len(brands) <= MAX_BRANDS:
        yield from (make_index_params("brand", brand=brand, phase=phase) for brand in brands for phase in phases)
    elif filter.network is not None and not filter.by_time:
        yield from (make_index_params("network", phase=phase) for phase in phases)
    else:
        yield from (make_index_params("all" if phase is None else "phase", phase=phase) for phase in phases)


def make_index_params(
    name: str, *, brand: str | None = None, phase: str | None = None, busy: Sequence[str] = ()
) -> dict[str, Any]:
    """Return one index scan as query parameters."""
    return {"way": name, "brand": brand, "phase": phase, "busy": list(busy)}


def get_visible_brands(filter: PostFilter) -> list[str] | None:
    """Return the brands the filter is limited to; None for all."""
    if filter.brand is None:
        return None if filter.brands is None else sorted(filter.brands)
    return [filter.brand] if filter.brands is None or filter.brand in filter.brands else []


def to_phases(states: Sequence[State]) -> list[str]:
    """Return the phases in which posts of these states are."""
    return sorted({UNFINISHED_PHASE if state in UNFINISHED else state.value for state in states})


def make_filter_params(filter: PostFilter) -> dict[str, Any]:
    """Return the filter as query parameters."""
    states = filter.states
    return {
        "network": filter.network,
        "account": filter.account,
        "brands": get_visible_brands(filter),
        "content_id": filter.content_id,
        "phases": to_phases(states) or None,
        "states": [state.value for state in states if state in UNFINISHED],
        "words": filter.words,
        "from_at": filter.from_at or BEGINNING,
    }
