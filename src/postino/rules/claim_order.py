"""Decide the order of claims: queue rank across all channels, then the longest waiting, and brands in turn."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from postino.rules.gates import ClosedGates
from postino.values.job import Queue

STARVING_AFTER = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class ClaimSource:
    """Jobs of one channel and queue that a worker can claim from, and when the first of them is due.

    There are three kinds: jobs without a lane, `lanes` of accounts and brands, and, in any queue, `started` posts:
    those of which something was sent, and those that ignore blackouts.
    """

    channel: str
    queue: Queue
    due_at: datetime
    lanes: bool = False
    started: bool = False
    types: tuple[str, ...] = ()  # of its jobs


@dataclass(frozen=True, slots=True)
class BrandTurn:
    """A brand with due jobs on a channel, and when it was last served there. "" means jobs without a brand."""

    channel: str
    brand: str
    served_at: datetime | None = None


def merge_sources(sources: Iterable[ClaimSource]) -> list[ClaimSource]:
    """Return each source once, with all its types and its earliest due time."""
    merged: dict[tuple[str, Queue, bool, bool], ClaimSource] = {}
    for source in sources:
        name = source.channel, source.queue, source.lanes, source.started
        known = merged.get(name, source)
        types = tuple(dict.fromkeys((*known.types, *source.types)))
        merged[name] = replace(min(source, known, key=lambda one: one.due_at), types=types)
    return list(merged.values())


def count_earliest(due: Iterable[tuple[str, datetime]], share: int) -> dict[str, int]:
    """Return how many of the jobs that are due first are of each type. Jobs of a channel run in the order of time."""
    return Counter(type_ for type_, _ in sorted(due, key=lambda one: one[1])[:share])


def is_open(source: ClaimSource, closed: ClosedGates) -> bool:
    if source.started:
        return not closed.is_closed_to_started and source.channel not in closed.channels_closed_to_started
    shut = source.channel in closed.channels or source.queue.label in closed.queues
    return not shut and closed.everything is None


def list_open_sources(sources: Iterable[ClaimSource], closed: ClosedGates, now: datetime) -> list[ClaimSource]:
    """Return the sources that may be claimed from now, the longest waiting first."""
    ready = [source for source in sources if source.due_at <= now and is_open(source, closed)]
    return sorted(ready, key=lambda source: source.due_at)


def order_queues(
    sources: Iterable[ClaimSource], free: int, now: datetime, low_is_running: bool
) -> list[tuple[Queue, int]]:
    """Return the queues in the order in which to serve them, with the maximum number of jobs of each.

    `low` never starves: once its oldest job has waited a minute, it gets one slot of this worker, and no more.
    """
    sources = list(sources)
    starving = any(source.queue is Queue.LOW and now - source.due_at >= STARVING_AFTER for source in sources)
    first = [(Queue.LOW, 1)] if starving and not low_is_running else []
    return first + [(queue, free) for queue in Queue if any(source.queue is queue for source in sources)]


def divide_slots(left: int, sources: Sequence[ClaimSource], room: Mapping[str, int]) -> list[int]:
    """Divide free slots evenly: the first sources get the remainder, a capped channel at most its free slots."""
    given: list[int] = []
    room = dict(room)
    for position, source in enumerate(sources):
        share = -(-left // (len(sources) - position))  # what a capped source cannot use goes to the next ones
        share = max(0, min(share, room.get(source.channel, share)))
        if source.channel in room:
            room[source.channel] -= share
        given.append(share)
        left -= share
    return given


def order_brands(ready: Iterable[BrandTurn], closed: ClosedGates) -> list[BrandTurn]:
    """Return the brands that may be served, the least recently served first."""
    waiting = [turn for turn in ready if turn.brand not in closed.brands]
    return sorted(waiting, key=lambda turn: (turn.served_at is not None, turn.served_at, turn.brand))


def divide_share(
    share: int, waiting: Sequence[BrandTurn], room: Mapping[tuple[str, str], int]
) -> list[tuple[BrandTurn, int]]:
    """Divide the share of a channel evenly among its brands; the first ones get the remainder."""
    left = [(turn, room.get((turn.channel, turn.brand), share)) for turn in waiting]
    given = dict.fromkeys(waiting, 0)
    while share and any(most > 0 for _, most in left):
        open_ = [(turn, most) for turn, most in left if most > 0]
        each = max(1, share // len(open_))
        for turn, most in open_:
            taken = min(each, most, share)
            given[turn] += taken
            share -= taken
        left = [(turn, room.get((turn.channel, turn.brand), given[turn] + share) - given[turn]) for turn in waiting]
    return [(turn, most) for turn, most in given.items() if most]


def compute_brand_limit(cap: int, *, is_first: bool) -> int:
    """Return how many slots of a channel one brand may hold. It never holds all, whatever its backlog.

    Jobs that go before all others (the queue `high`, jobs that were started or ignore blackouts) get half the slots
    first, and more only if the queues leave some: an editor chooses what is urgent, and would keep others to one slot.
    """
    return max(1, cap // 2 if is_first else cap - 1)


def compute_brand_room(
    caps: Mapping[str, int],
    running: Mapping[tuple[str, str], int],
    ready: Iterable[BrandTurn],
    *,
    is_first: bool = False,
) -> dict[tuple[str, str], int]:
    """Return the free slots of each brand on capped channels."""
    return {
        (turn.channel, turn.brand): compute_brand_limit(caps[turn.channel], is_first=is_first)
        - running.get((turn.channel, turn.brand), 0)
        for turn in ready
        if turn.brand and turn.channel in caps
    }


def list_full_brands(limits: Mapping[str, int], running: Mapping[tuple[str, str], int]) -> dict[str, list[str]]:
    """Return, by channel, the brands that hold as many of its slots as they may."""
    full: dict[str, list[str]] = {}
    for (channel, brand), count in running.items():
        if brand and channel in limits and count >= limits[channel]:
            full.setdefault(channel, []).append(brand)
    return full


def find_next_due_time(sources: Iterable[ClaimSource], closed: ClosedGates, now: datetime) -> datetime | None:
    """Return when the next source is both due and open."""
    ready = (max(source.due_at, find_opening_time(source, closed, now)) for source in sources)
    return min((at for at in ready if at > now), default=None)


def find_opening_time(source: ClaimSource, closed: ClosedGates, now: datetime) -> datetime:
    """Return when the gates of a source open; now, if they are open."""
    if is_open(source, closed):
        return now
    shut = (closed.channels.get(source.channel), closed.queues.get(source.queue.label), closed.everything)
    return max((until for until in shut if until is not None), default=now)
