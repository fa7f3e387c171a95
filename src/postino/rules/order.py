"""Who goes first: queue rank across all channels, then the line that has waited longest."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from postino.job import Queue
from postino.rules.gates import Closed

STARVING_AFTER = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Head:
    """The first of a line: when the next job of this channel and queue is due. `lanes` tells which of the two paths."""

    channel: str
    queue: Queue
    due_at: datetime
    lanes: bool = False


def open_lines(heads: Iterable[Head], closed: Closed, now: datetime) -> list[Head]:
    """The lines one may claim from now, the longest waiting first."""
    ready = [
        head
        for head in heads
        if head.due_at <= now and head.channel not in closed.channels and head.queue.label not in closed.queues
    ]
    return sorted(ready, key=lambda head: head.due_at)


def turns(lines: Iterable[Head], free: int, now: datetime, low_is_running: bool) -> list[tuple[Queue, int]]:
    """Which queues to serve in which order, and at most how many of each.

    `low` is never starved: once its oldest job has waited a minute it gets one slot of this worker, and no more.
    """
    lines = list(lines)
    starving = any(line.queue is Queue.LOW and now - line.due_at >= STARVING_AFTER for line in lines)
    first = [(Queue.LOW, 1)] if starving and not low_is_running else []
    return first + [(queue, free) for queue in Queue if any(line.queue is queue for line in lines)]


def shares(left: int, lines: Sequence[Head], room: Mapping[str, int]) -> list[int]:
    """How many each line may give: evenly, the first ones get the remainder, a capped channel no more than its room."""
    given: list[int] = []
    room = dict(room)
    for position, line in enumerate(lines):
        share = -(-left // (len(lines) - position))  # what is left over by a capped line goes to those after it
        share = max(0, min(share, room.get(line.channel, share)))
        if line.channel in room:
            room[line.channel] -= share
        given.append(share)
        left -= share
    return given


def next_due(heads: Iterable[Head], closed: Closed, now: datetime) -> datetime | None:
    """When to look again by oneself: the first open line that is not due yet."""
    later = [
        head.due_at
        for head in heads
        if head.due_at > now and head.channel not in closed.channels and head.queue.label not in closed.queues
    ]
    return min(later, default=None)
