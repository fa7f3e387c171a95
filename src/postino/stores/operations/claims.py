"""Taking jobs: one transaction, one winner, closed gates left alone."""

from collections.abc import Sequence
from datetime import UTC, datetime

from postino.rules.circuit_breaker import Circuit
from postino.rules.claim_order import Head, open_lines, shares, turns
from postino.rules.gates import EVEN_IF_SENT, Known, closed
from postino.stores import rows
from postino.stores.operations.circuits import half_open_circuits
from postino.stores.operations.claim_lanes import claim_lanes
from postino.stores.operations.claim_state import ClaimState
from postino.stores.operations.gates import read_gate_state
from postino.stores.operations.lane_hints import fold_hints, read_hints
from postino.stores.records import ClaimRequest
from postino.stores.statement import Operation, ask, each
from postino.values.job import Job, Queue

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def is_single_statement(order: ClaimRequest) -> bool:
    """Whether nothing has to be locked or counted first: each statement of the claim is then complete by itself."""
    known = order.poll.known
    if order.poll.hinted or known.blackouts or known.breakers:
        return False
    lines = open_lines(order.poll.heads, closed(known, order.poll.now), order.poll.now)
    return not any(line.lanes or line.begun or line.channel in known.caps for line in lines)


def claim(order: ClaimRequest) -> Operation[list[Job]]:
    known, now = order.poll.known, order.poll.now
    # Hints first, gates later: a gate that was opened in between would else be closed for ever to lanes it hinted at.
    hinted = (yield from read_hints()) if order.poll.hinted else []
    if not is_single_statement(order):
        known, now = yield from read_gate_state()
    taking = ClaimState(order, known, now, closed(known, now))
    heads = tuple(merge_heads([*order.poll.heads, *(yield from fold_hints(taking, hinted))]))
    lines = open_lines(heads, taking.closed, now)
    yield from count_room(taking, lines)
    yield from half_open_waiting(known, lines)
    yield from claim_begun(taking, [line for line in lines if line.begun])
    lines = [line for line in lines if not line.begun]
    for queue, most in turns(lines, order.free, now, order.low_is_running):
        due = [line for line in lines if line.queue is queue]
        yield from claim_queue(taking, queue, due, min(len(taking.taken) + most, order.free))
    return taking.taken


def half_open_waiting(known: Known, lines: Sequence[Head]) -> Operation[None]:
    waiting = {line.channel for line in lines}
    over = {breaker.service for breaker in known.breakers if breaker.state is Circuit.OPEN} & waiting
    if over:
        yield from half_open_circuits(over)


def claim_queue(taking: ClaimState, queue: Queue, lines: Sequence[Head], most: int) -> Operation[None]:
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
            if can_have_more(line, share, claimed) or (line.lanes and line.channel in moved)
        ]


def can_have_more(line: Head, share: int, claimed: Sequence[Job]) -> bool:
    ours = [job for job in claimed if job.channel == line.channel and (job.lane is not None) is line.lanes]
    # A channel's brands, and a brand's lanes, divide a share evenly among them, whatever each of them has.
    return len(ours) >= share or any(job.brand is not None and job.lane is not None for job in ours)


def count_room(taking: ClaimState, lines: Sequence[Head]) -> Operation[None]:
    """How many more may run on each capped channel, counted under its lock, so that nothing leaks."""
    caps = taking.closed.caps
    capped = sorted({line.channel for line in lines} & caps.keys())
    if not capped:
        return
    locked = {row["channel"] for row in (yield ask("lock_caps", channels=capped))}
    counted = yield ask("count_running_jobs", channels=capped)
    for row in counted:
        taking.running[row["channel"], row["brand"]] = row["running"]
    for channel in capped:
        running = sum(number for (of, _), number in taking.running.items() if of == channel)
        taking.room[channel] = caps[channel] - running if channel in locked else 0


def claim_bulk(taking: ClaimState, queue: Queue, given: Sequence[tuple[Head, int]]) -> Operation[list[Job]]:
    marks = taking.order.marks
    claimed = yield each(
        "claim_bulk_jobs",
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


def claim_begun(taking: ClaimState, lines: Sequence[Head]) -> Operation[None]:
    """What has begun to go out comes first: there is little of it, and somebody waits to know."""
    while lines and len(taking.taken) < taking.order.free:
        given = shares(taking.order.free - len(taking.taken), lines, taking.room)
        wanted = [
            {"channel": line.channel, "share": share} for line, share in zip(lines, given, strict=True) if share > 0
        ]
        begun = yield each("lock_begun_jobs", wanted, kinds=sorted(EVEN_IF_SENT), **taking.shut_in_earnest())
        jobs = rows.live_jobs((yield each("claim_begun_jobs", begun, **taking.terms())))
        busy = [{"channel": job.channel, "lane": job.lane} for job in jobs if job.account is not None]
        yield each("delete_lane_due", busy)
        taking.take(jobs)
        # An account gives one, however many of its jobs were the first to be seen.
        lines = [line for line in lines if any(job.channel == line.channel for job in jobs)]


def merge_heads(heads: Sequence[Head]) -> list[Head]:
    """Each line once: the survey knew it, and a hint may have told of it again."""
    first: dict[tuple[str, Queue, bool, bool], Head] = {}
    for head in heads:
        line = head.channel, head.queue, head.lanes, head.begun
        first[line] = min(head, first.get(line, head), key=lambda known: known.due_at)
    return list(first.values())
