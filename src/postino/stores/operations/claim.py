"""Taking jobs: one transaction, one winner, closed gates left alone."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

from postino.job import Job, Queue
from postino.rules.gates import Closed, Gate, Scope, closed
from postino.rules.order import Head, open_lines, shares, turns
from postino.store import ClaimOrder, Survey
from postino.stores import rows
from postino.stores.statement import Operation, Row, ask, each

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
Marks = Mapping[tuple[str, Queue], datetime]


def survey(worker: str | None, beat: bool, marks: Marks) -> Operation[Survey]:
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
            Head(row["name"], Queue(row["queue"]), row["due_at"], lanes=path == "lanes")
            for path in ("bulk", "lanes")
            for row in kinds[path]
        ),
        hinted=bool(kinds["hint"]),
        orphaned=bool(kinds["orphan"]),
        gates=tuple(surveyed_gate(row) for row in kinds["gate"]),
        beats={row["name"]: row["amount"] for row in kinds["worker"]},
        held=frozenset((UUID(row["name"]), UUID(row["detail"])) for row in kinds["held"]),
    )


def surveyed_gate(row: Row) -> Gate:
    scope, _, reason = row["detail"].partition(" ")
    return Gate(Scope(scope), row["name"], row["due_at"], reason or None, row["amount"])


def stands_alone(order: ClaimOrder) -> bool:
    """Whether nothing has to be locked or counted first: each statement of the claim is then complete by itself."""
    gates = closed(order.survey.gates)
    lines = open_lines(order.survey.heads, gates, order.survey.now)
    return not order.survey.hinted and not any(line.lanes or line.channel in gates.caps for line in lines)


def claim(order: ClaimOrder) -> Operation[list[Job]]:
    gates = closed(order.survey.gates)
    heads = order.survey.heads
    if not stands_alone(order):
        gates = closed([rows.gate(row) for row in (yield ask("gates"))])
    if order.survey.hinted:
        heads = tuple(merged([*heads, *(yield from fold_hints())]))
    lines = open_lines(heads, gates, order.survey.now)
    room = yield from remaining_room(gates, lines)
    taken: list[Job] = []
    for queue, most in turns(lines, order.free, order.survey.now, order.low_is_running):
        due = [line for line in lines if line.queue is queue]
        yield from claim_queue(order, gates, queue, due, min(len(taken) + most, order.free), room, taken)
    return taken


def claim_queue(
    order: ClaimOrder,
    gates: Closed,
    queue: Queue,
    lines: Sequence[Head],
    most: int,
    room: dict[str, int],
    taken: list[Job],
) -> Operation[None]:
    """Takes shares, and shares of what is left, until all is given or no line has more: rank goes before fairness."""
    while lines and len(taken) < most:
        given = shares(most - len(taken), lines, room)
        portions = [(line, share) for line, share in zip(lines, given, strict=True) if share > 0]
        if not portions:
            break  # what is left is behind full caps
        bulk = [portion for portion in portions if not portion[0].lanes]
        claimed = yield from claim_bulk(order, queue, bulk, room, taken)
        lanes = [portion for portion in portions if portion[0].lanes]
        claimed += yield from claim_lanes(order, gates, queue, lanes, taken)
        for job in claimed:
            if job.channel in room:
                room[job.channel] -= 1
        taken += claimed
        lines = [line for line, share in zip(lines, given, strict=True) if may_have_more(line, share, claimed)]


def may_have_more(line: Head, share: int, claimed: Sequence[Job]) -> bool:
    ours = [job for job in claimed if job.channel == line.channel and (job.lane is not None) is line.lanes]
    # A brand's lanes divide a share evenly among them, whatever each of them has.
    return len(ours) >= share or any(job.lane is not None and job.account is None for job in ours)


def remaining_room(gates: Closed, lines: Sequence[Head]) -> Operation[dict[str, int]]:
    """How many more may run on each capped channel, counted under its lock, so that nothing leaks."""
    capped = sorted({line.channel for line in lines} & gates.caps.keys())
    if not capped:
        return {}
    locked = yield ask("lock_gates", channels=capped)
    counted = yield ask("count_running", channels=capped)
    running = {row["channel"]: row["running"] for row in counted}
    caps = {row["name"]: row["cap"] for row in locked if row["cap"] is not None}
    return {channel: caps.get(channel, 0) - running.get(channel, 0) for channel in capped}


def claim_bulk(
    order: ClaimOrder, queue: Queue, portions: Sequence[tuple[Head, int]], counted: Iterable[str], taken: Sequence[Job]
) -> Operation[list[Job]]:
    claimed = yield each(
        "claim_bulk",
        [
            {"channel": line.channel, "share": share, "since_at": order.marks.get((line.channel, queue), LONG_AGO)}
            for line, share in portions
        ],
        queue=queue.value,
        queue_name=queue.label,
        counted=sorted(counted),
        taken=[job.id for job in taken],
        worker=order.worker,
        token=order.token,
        limits=json.dumps(order.limits) if order.limits else None,
        grace=order.grace,
    )
    return rows.live_jobs(claimed)


def claim_lanes(
    order: ClaimOrder, gates: Closed, queue: Queue, portions: Sequence[tuple[Head, int]], taken: Sequence[Job]
) -> Operation[list[Job]]:
    brands, accounts = sorted(gates.brands), sorted(gates.accounts)
    locked = yield each(
        "lock_lanes",
        [{"channel": line.channel, "share": share} for line, share in portions],
        queue=queue.value,
        brands=brands,
        accounts=accounts,
    )
    lanes = with_widths(locked, {line.channel: share for line, share in portions})
    claimed = yield each(
        "claim_lanes",
        lanes,
        queue=queue.value,
        worker=order.worker,
        token=order.token,
        limits=json.dumps(order.limits) if order.limits else None,
        grace=order.grace,
        brands=brands,
        taken=[job.id for job in taken],
    )
    jobs = rows.live_jobs(claimed)
    busy = {(job.channel, job.lane) for job in jobs if job.account is not None}
    yield each("idle_lanes", [lane for lane in lanes if (lane["channel"], lane["lane"]) in busy])
    yield each("rearm_lanes", [lane for lane in lanes if (lane["channel"], lane["lane"]) not in busy])
    return jobs


def with_widths(lanes: Sequence[Row], share: Mapping[str, int]) -> list[dict[str, object]]:
    """How many jobs each lane may give: an account's one, a brand's as many as its channel's share leaves over."""
    given: list[dict[str, object]] = []
    for channel, most in share.items():
        ours = [lane for lane in lanes if lane["channel"] == channel]
        wide = sum(lane["account"] is None for lane in ours)
        spare = (most - len(ours)) // wide if wide else 0
        given += [
            {"channel": channel, "lane": lane["lane"], "width": 1 if lane["account"] is not None else 1 + spare}
            for lane in ours
        ]
    return given


def merged(heads: Sequence[Head]) -> list[Head]:
    """Each line once: the survey knew it, and a hint may have told of it again."""
    first: dict[tuple[str, Queue, bool], Head] = {}
    for head in heads:
        line = head.channel, head.queue, head.lanes
        first[line] = min(head, first.get(line, head), key=lambda known: known.due_at)
    return list(first.values())


def fold_hints() -> Operation[list[Head]]:
    """Reads the notes saying "look at this lane again" and finds out when each of those lanes is next due."""
    yield ask("adopt_lanes")
    lanes = yield ask("lock_hinted")
    yield each("drop_hints", lanes)
    armed = yield each("rearm_lanes", lanes)
    first: dict[tuple[str, Queue], datetime] = {}
    for row in armed:
        line = row["channel"], Queue(row["queue"])
        first[line] = min(row["due_at"], first.get(line, row["due_at"]))
    return [Head(channel, queue, due_at, lanes=True) for (channel, queue), due_at in first.items()]
