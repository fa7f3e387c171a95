"""Finding posts: by the index that fits best, and never through more posts than one answer is worth."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from postino.stores.operations.pagination import FIRST_ID, LAST_ID, next_scan_size
from postino.stores.operations.posts import find_posts
from postino.stores.statement import Operation, ask
from postino.values.job import State
from postino.values.post import Place, PostFilter, PostPage, StoredPost

BEGINNING, END = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
LIVE = {State.PENDING: "pending", State.RUNNING: "running", State.UNCERTAIN: "uncertain"}
MAX_SCANNED = 10_000  # posts that one answer looks through
MAX_SEARCHED = 5_000  # where each of them costs a look at what it says
MAX_BRANDS = 20  # each a way of its own; of more, whatever comes is looked at
PHASES = ["cancelled", "completed", "failed", "live"]


@dataclass(frozen=True, slots=True)
class Walk:
    """What a walk over some posts found, and where it stopped; None: at the end."""

    found: Sequence[Place]
    stopped: Place | None


def list_posts(wanted: PostFilter) -> Operation[list[StoredPost]]:
    """However far it is to the last that fits."""
    found: list[Place] = []
    place: Place | None = find_start(wanted)
    there = [*choose_indexes(wanted)]
    scan = wanted.limit
    while place is not None and len(found) < wanted.limit:
        walk = yield from walk_posts(wanted, there, place, scan)
        found, place, scan = [*found, *walk.found], walk.stopped, max(wanted.limit, MAX_SCANNED // max(1, len(there)))
    return (yield from find_posts([place.id for place in found[: wanted.limit]]))


def get_posts_page(wanted: PostFilter) -> Operation[PostPage]:
    found: list[Place] = []
    place: Place | None = find_start(wanted)
    there = [*choose_indexes(wanted)]
    scan, left = wanted.limit + 1, MAX_SCANNED if wanted.words is None else MAX_SEARCHED
    while place is not None and scan > 0 and len(found) <= wanted.limit:
        walk = yield from walk_posts(wanted, there, place, scan)
        found, place, left = [*found, *walk.found], walk.stopped, max(0, left - scan * len(there))
        scan = next_scan_size(scan, len(walk.found), wanted.limit + 1 - len(found), left // max(1, len(there)))
    if len(found) > wanted.limit:
        found = found[: wanted.limit]
        place = found[-1]
    return PostPage((yield from find_posts([one.id for one in found])), place)


def walk_posts(wanted: PostFilter, there: Sequence[Mapping[str, Any]], place: Place, scan: int) -> Operation[Walk]:
    """One step of the walk, on all its ways: nothing behind the place where the first of them stopped counts yet."""
    walks = []
    for way in there:
        name = "scan_posts_by_time" if wanted.by_time else "scan_posts"
        reached = {"before": place.id, "before_at": place.at, "scan": scan}
        found = yield ask(name, **make_filter_params(wanted), **reached, **way)
        fitting = [Place(row["id"], row["scheduled_at"]) for row in found if row["fits"]]
        over = not found or found[0]["walked"] < scan
        walks.append(Walk(fitting, None if over else Place(found[-1]["id"], found[-1]["scheduled_at"])))

    def order(one: Place) -> Any:
        return (one.at, one.id) if wanted.by_time else one.id

    stopped = max((walk.stopped for walk in walks if walk.stopped), key=order, default=None)
    merged = sorted((one for walk in walks for one in walk.found), key=order, reverse=True)
    return Walk([one for one in merged if stopped is None or order(one) >= order(stopped)], stopped)


def find_start(wanted: PostFilter) -> Place:
    """Before which to begin: the cursor or, by time, the end of what is wanted."""
    end = Place(FIRST_ID, wanted.to_at) if wanted.to_at is not None else Place(LAST_ID, END)
    if wanted.before is None:
        return end if wanted.by_time else Place(LAST_ID, END)
    return Place(wanted.before, wanted.before_at or END)


def choose_indexes(wanted: PostFilter) -> Iterator[Mapping[str, Any]]:
    """The index that leaves the least to walk over: one way for each phase, and for each brand that may be seen."""
    brands, states = get_visible_brands(wanted), set(wanted.states)
    phases = [None] if wanted.by_time else to_phases(wanted.states) or PHASES
    if wanted.content_id is not None and not wanted.by_time:
        yield make_index_params("content")
    elif states and states <= {State.RUNNING, State.UNCERTAIN}:
        yield make_index_params("busy", busy=sorted(states))
    elif wanted.account is not None:
        yield from (make_index_params("account", phase=phase) for phase in phases)
    elif brands is not None and len(brands) <= MAX_BRANDS:
        yield from (make_index_params("brand", brand=brand, phase=phase) for brand in brands for phase in phases)
    elif wanted.network is not None and not wanted.by_time:
        yield from (make_index_params("network", phase=phase) for phase in phases)
    else:
        yield from (make_index_params("all" if phase is None else "phase", phase=phase) for phase in phases)


def make_index_params(
    name: str, *, brand: str | None = None, phase: str | None = None, busy: Sequence[str] = ()
) -> dict[str, Any]:
    return {"way": name, "brand": brand, "phase": phase, "busy": list(busy)}


def get_visible_brands(wanted: PostFilter) -> list[str] | None:
    if wanted.brand is None:
        return None if wanted.brands is None else sorted(wanted.brands)
    return [wanted.brand] if wanted.brands is None or wanted.brand in wanted.brands else []


def to_phases(states: Sequence[State]) -> list[str]:
    return sorted({"live" if state in LIVE else state.value for state in states})


def make_filter_params(wanted: PostFilter) -> dict[str, Any]:
    states = wanted.states
    return {
        "network": wanted.network,
        "account": wanted.account,
        "brands": get_visible_brands(wanted),
        "content_id": wanted.content_id,
        "phases": to_phases(states) or None,
        "states": [LIVE[state] for state in states if state in LIVE],
        "words": wanted.words,
        "from_at": wanted.from_at or BEGINNING,
    }
