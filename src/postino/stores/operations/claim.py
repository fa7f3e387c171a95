"""Taking jobs: one transaction, one winner, closed gates left alone."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from postino.rules.circuit_breaker import Circuit
from postino.rules.claim_order import Head, Turn, brand_room, in_turn, open_lines, portions, shares, turns
from postino.rules.gates import EVEN_IF_SENT, Closed, Known, closed
from postino.stores import rows
from postino.stores.operations.gates import half_open, known_from, known_gates
from postino.stores.records import ClaimOrder, Survey
from postino.stores.statement import Operation, Row, ask, each
from postino.values.job import Job, Queue

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
Marks = Mapping[tuple[str, Queue], datetime]


def survey(worker: str | None, *, beat: bool = False, marks: Marks | None = None) -> Operation[Survey]:
    """Read what is due where, which gates stand and how far workers' heartbeats have come; with `beat`, add one."""
    marks = marks or {}
    found = yield ask(
        "survey",
        worker=worker,
        beat=beat,
        mark_channel=[channel for channel, _ in marks],
        mark_queue=[queue.value for _, queue in marks],
        mark_since_at=list(marks.values()),
    )
    kinds: dict[str, list[Row]] = defaultdict(list)
    for row in found:
        kinds[row["kind"]].append(row)
    return Survey(
        now=kinds["clock"][0]["due_at"],
        heads=tuple(
            Head(row["name"], Queue(row["queue"]), row["due_at"], lanes=path == "lanes", begun=path == "begun")
            for path in ("bulk", "lanes", "begun")
            for row in kinds[path]
        ),
        hinted=bool(kinds["hint"]),
        orphaned=bool(kinds["orphan"]),
        known=known_from(kinds),
        beats={row["name"]: row["amount"] for row in kinds["worker"]},
        held=frozenset((UUID(row["name"]), UUID(row["detail"])) for row in kinds["held"]),
    )


def stands_alone(order: ClaimOrder) -> bool:
    """Whether nothing has to be locked or counted first: each statement of the claim is then complete by itself."""
    known = order.survey.known
    if order.survey.hinted or known.blackouts or known.breakers:
        return False
    lines = open_lines(order.survey.heads, closed(known, order.survey.now), order.survey.now)
    return not any(line.lanes or line.begun or line.channel in known.caps for line in lines)


@dataclass(slots=True)
class Taking:
    """One claim under way: what was asked for, what may not be taken, how much room is left, and what was taken."""

    order: ClaimOrder
    known: Known
    now: datetime
    closed: Closed
    room: dict[str, int] = field(default_factory=dict)  # of capped channels
    running: Counter[tuple[str, str]] = field(default_factory=Counter)  # of capped channels, by brand
    taken: list[Job] = field(default_factory=list)

    def take(self, jobs: Sequence[Job]) -> None:
        self.taken += jobs
        for job in jobs:
            if job.channel in self.room:
                self.room[job.channel] -= 1
                self.running[job.channel, job.brand or ""] += 1

    def terms(self) -> dict[str, Any]:
        """What every claiming statement has to know."""
        order = self.order
        return {
            "worker": order.worker,
            "token": order.token,
            "limits": json.dumps(order.limits) if order.limits else None,
            "grace": order.grace,
            "taken": [job.id for job in self.taken],
        }

    def shut_in_earnest(self) -> dict[str, Any]:
        """What is closed to those that need not mind blackouts."""
        shut = closed(replace(self.known, blackouts=()), self.now)
        return {
            "shut_all": shut.everything is not None,
            "shut_channel": list(shut.channels),
            "shut_queue": [queue.value for queue in Queue if queue.label in shut.queues],
            "shut_brand": list(shut.brands),
        }

    def shut(self) -> dict[str, list[Any]]:
        """What is closed to lanes, and until when."""
        return {
            "shut_brand": list(self.closed.brands),
            "brand_until_at": list(self.closed.brands.values()),
            "shut_account": list(self.closed.accounts),
            "account_until_at": list(self.closed.accounts.values()),
        }


def claim(order: ClaimOrder) -> Operation[list[Job]]:
    known, now = order.survey.known, order.survey.now
    # Hints first, gates later: a gate that was opened in between would else be closed for ever to lanes it hinted at.
    hinted = (yield from read_hints()) if order.survey.hinted else []
    if not stands_alone(order):
        known, now = yield from known_gates()
    taking = Taking(order, known, now, closed(known, now))
    heads = tuple(merged([*order.survey.heads, *(yield from fold_hints(taking, hinted))]))
    lines = open_lines(heads, taking.closed, now)
    yield from count_room(taking, lines)
    yield from half_open_some(known, lines)
    yield from claim_begun(taking, [line for line in lines if line.begun])
    lines = [line for line in lines if not line.begun]
    for queue, most in turns(lines, order.free, now, order.low_is_running):
        due = [line for line in lines if line.queue is queue]
        yield from claim_queue(taking, queue, due, min(len(taking.taken) + most, order.free))
    return taking.taken


def half_open_some(known: Known, lines: Sequence[Head]) -> Operation[None]:
    waiting = {line.channel for line in lines}
    over = {breaker.service for breaker in known.breakers if breaker.state is Circuit.OPEN} & waiting
    if over:
        yield from half_open(over)


def claim_queue(taking: Taking, queue: Queue, lines: Sequence[Head], most: int) -> Operation[None]:
    """Takes shares, and shares of what is left, until all is given or no line has more: rank goes before fairness."""
    while lines and len(taking.taken) < most:
        given = shares(most - len(taking.taken), lines, taking.room)
        ours = [(line, share) for line, share in zip(lines, given, strict=True) if share > 0]
        if not ours:
            break  # what is left is behind full caps
        claimed = yield from claim_bulk(taking, queue, [portion for portion in ours if not portion[0].lanes])
        more, moved = yield from claim_lanes(taking, queue, {line.channel: share for line, share in ours if line.lanes})
        claimed += more
        lines = [
            line
            for line, share in zip(lines, given, strict=True)
            if may_have_more(line, share, claimed) or (line.lanes and line.channel in moved)
        ]


def may_have_more(line: Head, share: int, claimed: Sequence[Job]) -> bool:
    ours = [job for job in claimed if job.channel == line.channel and (job.lane is not None) is line.lanes]
    # A channel's brands, and a brand's lanes, divide a share evenly among them, whatever each of them has.
    return len(ours) >= share or any(job.brand is not None and job.lane is not None for job in ours)


def count_room(taking: Taking, lines: Sequence[Head]) -> Operation[None]:
    """How many more may run on each capped channel, counted under its lock, so that nothing leaks."""
    caps = taking.closed.caps
    capped = sorted({line.channel for line in lines} & caps.keys())
    if not capped:
        return
    locked = {row["channel"] for row in (yield ask("lock_caps", channels=capped))}
    counted = yield ask("count_running", channels=capped)
    for row in counted:
        taking.running[row["channel"], row["brand"]] = row["running"]
    for channel in capped:
        running = sum(number for (of, _), number in taking.running.items() if of == channel)
        taking.room[channel] = caps[channel] - running if channel in locked else 0


def claim_bulk(taking: Taking, queue: Queue, given: Sequence[tuple[Head, int]]) -> Operation[list[Job]]:
    marks = taking.order.marks
    claimed = yield each(
        "claim_bulk",
        [
            {"channel": line.channel, "share": share, "since_at": marks.get((line.channel, queue), LONG_AGO)}
            for line, share in given
        ],
        queue=queue.value,
        queue_name=queue.label,
        counted=sorted(taking.room),
        **taking.terms(),
    )
    jobs = rows.live_jobs(claimed)
    taking.take(jobs)
    return jobs


def claim_begun(taking: Taking, lines: Sequence[Head]) -> Operation[None]:
    """What has begun to go out comes first: there is little of it, and somebody waits to know."""
    while lines and len(taking.taken) < taking.order.free:
        given = shares(taking.order.free - len(taking.taken), lines, taking.room)
        wanted = [
            {"channel": line.channel, "share": share} for line, share in zip(lines, given, strict=True) if share > 0
        ]
        begun = yield each("lock_begun", wanted, kinds=sorted(EVEN_IF_SENT), **taking.shut_in_earnest())
        jobs = rows.live_jobs((yield each("claim_begun", begun, **taking.terms())))
        busy = [{"channel": job.channel, "lane": job.lane} for job in jobs if job.account is not None]
        yield each("idle_lanes", busy)
        taking.take(jobs)
        # An account gives one, however many of its jobs were the first to be seen.
        lines = [line for line in lines if any(job.channel == line.channel for job in jobs)]


def claim_lanes(taking: Taking, queue: Queue, given: Mapping[str, int]) -> Operation[tuple[list[Job], set[str]]]:
    """The jobs, and the channels on which lanes that only seemed to be ready are out of the way now."""
    yield from put_away(taking, queue, given)
    found = yield each("ready_brands", [{"channel": channel} for channel in given], queue=queue.value)
    ready = [Turn(row["channel"], row["brand"], row["served_at"]) for row in found]
    room = brand_room(taking.closed.caps, taking.running, ready)
    ours = [
        portion
        for channel, share in given.items()
        for portion in portions(share, in_turn([it for it in ready if it.channel == channel], taking.closed), room)
    ]
    locked = yield each(
        "lock_lanes",
        [{"channel": turn.channel, "brand": turn.brand, "share": share} for turn, share in ours],
        queue=queue.value,
    )
    ours_open = [lane for lane in locked if lane["account"] not in taking.closed.accounts]
    lanes = with_widths(ours_open, {(turn.channel, turn.brand): share for turn, share in ours})
    claimed = yield each(
        "claim_lanes", lanes, queue=queue.value, shut_brand=list(taking.closed.brands), **taking.terms()
    )
    jobs = rows.live_jobs(claimed)
    taking.take(jobs)
    moved = yield from settle_lanes(taking, locked, jobs)
    if any(turn.brand for turn in ready):
        served = sorted({(job.channel, job.brand or "") for job in jobs})
        yield each("serve", [{"channel": channel, "brand": brand} for channel, brand in served])
    return jobs, moved & {lane["channel"] for lane in locked}


def put_away(taking: Taking, queue: Queue, channels: Iterable[str]) -> Operation[None]:
    """Lanes that became due after a blackout of their brand or account had begun wait for its end."""
    shut = {"shut_brand": list(taking.closed.brands), "shut_account": list(taking.closed.accounts)}
    if any(shut.values()):
        wanted = [{"channel": channel} for channel in channels]
        lanes = yield each("lock_shut_lanes", wanted, queue=queue.value, **shut)
        yield each("rearm_lanes", lanes, **taking.shut())


def settle_lanes(taking: Taking, lanes: Sequence[Row], jobs: Sequence[Job]) -> Operation[set[str]]:
    """When these lanes have something to do next; the channels of those that were not ready after all."""
    busy = {(job.channel, job.lane) for job in jobs if job.account is not None}
    theirs = [{"channel": lane["channel"], "lane": lane["lane"]} for lane in lanes]
    yield each("idle_lanes", [lane for lane in theirs if (lane["channel"], lane["lane"]) in busy])
    again = [lane for lane in theirs if (lane["channel"], lane["lane"]) not in busy]
    armed = yield each("rearm_lanes", again, **taking.shut())
    still = {(row["channel"], row["lane"]) for row in armed if row["due_at"] <= taking.now}
    return {lane["channel"] for lane in again if (lane["channel"], lane["lane"]) not in still}


def with_widths(lanes: Sequence[Row], share: Mapping[tuple[str, str], int]) -> list[dict[str, object]]:
    """How many jobs each lane may give: an account's one, a brand's as many as its share leaves over."""
    given: list[dict[str, object]] = []
    for (channel, brand), most in share.items():
        ours = [lane for lane in lanes if (lane["channel"], lane["brand"]) == (channel, brand)]
        wide = sum(lane["account"] is None for lane in ours)
        spare = (most - len(ours)) // wide if wide else 0
        given += [
            {"channel": channel, "lane": lane["lane"], "width": 1 if lane["account"] is not None else 1 + spare}
            for lane in ours
        ]
    return given


def merged(heads: Sequence[Head]) -> list[Head]:
    """Each line once: the survey knew it, and a hint may have told of it again."""
    first: dict[tuple[str, Queue, bool, bool], Head] = {}
    for head in heads:
        line = head.channel, head.queue, head.lanes, head.begun
        first[line] = min(head, first.get(line, head), key=lambda known: known.due_at)
    return list(first.values())


def read_hints() -> Operation[Sequence[Row]]:
    """Takes the notes saying "look at this lane again", and the lanes they tell of."""
    yield ask("hold_lanes")
    yield ask("adopt_lanes")
    lanes = yield ask("lock_hinted")
    yield each("drop_hints", lanes)
    return lanes


def fold_hints(taking: Taking, lanes: Sequence[Row]) -> Operation[list[Head]]:
    """Finds out when each of these lanes is next due."""
    armed = yield each("rearm_lanes", lanes, **taking.shut())
    first: dict[tuple[str, Queue], datetime] = {}
    for row in armed:
        line = row["channel"], Queue(row["queue"])
        first[line] = min(row["due_at"], first.get(line, row["due_at"]))
    return [Head(channel, queue, due_at, lanes=True) for (channel, queue), due_at in first.items()]
