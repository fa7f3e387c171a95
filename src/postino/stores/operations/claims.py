"""Claims: one winner per job, nothing behind a closed gate, caps counted under their lock.

`rules.claim_order` decides the order and the shares; these statements take the jobs.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from postino.rules.circuit_breaker import CircuitState
from postino.rules.claim_order import (
    ClaimSource,
    count_earliest,
    divide_slots,
    list_full_brands,
    list_open_sources,
    merge_sources,
    order_queues,
)
from postino.rules.gates import BLOCKS_STARTED, GateSources, compute_closed_gates
from postino.stores.operations.circuits import admit_probes, half_open_circuits
from postino.stores.operations.claim_lanes import claim_lanes
from postino.stores.operations.claim_state import ClaimState
from postino.stores.operations.gates import read_gate_sources
from postino.stores.operations.lane_hints import apply_hints, read_hints
from postino.stores.operations.post_events import PostEvent, write_post_events
from postino.stores.records import ClaimRequest
from postino.stores.rows import to_unfinished_jobs
from postino.stores.statement import Operation, Row, ask, each
from postino.values.event import EventType
from postino.values.job import Job, Queue
from postino.values.post import POST

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def is_single_statement(request: ClaimRequest) -> bool:
    """Return whether nothing has to be locked or counted first: each statement is then a complete claim."""
    gate_sources = request.poll.gate_sources
    if request.poll.hinted or gate_sources.blackouts or gate_sources.breakers:
        return False
    sources = list_open_sources(
        request.poll.heads, compute_closed_gates(gate_sources, request.poll.now), request.poll.now
    )
    return not any(source.lanes or source.started or source.channel in gate_sources.caps for source in sources)


def claim(request: ClaimRequest) -> Operation[list[Job]]:
    """Claim due jobs for one worker."""
    gate_sources, now = request.poll.gate_sources, request.poll.now
    # Hints first, gates later: otherwise a gate opened in between would stay closed for its lanes.
    hinted = (yield from read_hints()) if request.poll.hinted else []
    if not is_single_statement(request):
        gate_sources, now = yield from read_gate_sources()
    state = ClaimState(request, gate_sources, now, compute_closed_gates(gate_sources, now))
    heads = merge_sources([*request.poll.heads, *(yield from apply_hints(state, hinted))])
    sources = list_open_sources(heads, state.closed, now)
    yield from count_room(state, sources)
    yield from half_open_waiting(gate_sources, sources)
    started = [source for source in sources if source.started]
    queued = [source for source in sources if not source.started]
    yield from claim_started(state, started)
    yield from claim_queues(state, queued)
    # What the queues leave goes to the brands that have had half the slots for what goes first.
    limited = list_full_brands(state.list_brand_limits(), state.running).keys()
    state.is_first = False
    yield from claim_started(state, [source for source in started if source.channel in limited])
    urgent = [source for source in queued if source.channel in limited and source.queue is Queue.HIGH]
    yield from claim_queue(state, Queue.HIGH, urgent, request.free)
    yield from write_post_events(
        PostEvent(EventType.POST_PUBLISHING, job, {"attempts": job.attempts})
        for job in state.claimed
        if job.type == POST
    )
    return state.claimed


def claim_queues(state: ClaimState, sources: Sequence[ClaimSource]) -> Operation[None]:
    """Claim from the queues in their order."""
    free = state.request.free
    for queue, most in order_queues(sources, free, state.now, state.request.low_is_running):
        due = [source for source in sources if source.queue is queue]
        yield from claim_queue(state, queue, due, min(len(state.claimed) + most, free))


def half_open_waiting(gate_sources: GateSources, sources: Sequence[ClaimSource]) -> Operation[None]:
    """Half-open the circuits whose time is over and for whose channels jobs wait."""
    waiting = {source.channel for source in sources}
    expired = {breaker.service for breaker in gate_sources.breakers if breaker.state is CircuitState.OPEN} & waiting
    if expired:
        yield from half_open_circuits(expired)


def claim_queue(state: ClaimState, queue: Queue, sources: Sequence[ClaimSource], most: int) -> Operation[None]:
    """Claim from the sources of a queue until `most` jobs are claimed. Shares that a source leaves go to the others."""
    while sources and len(state.claimed) < most:
        shares_given = divide_slots(most - len(state.claimed), sources, state.room)
        portions = [(source, share) for source, share in zip(sources, shares_given, strict=True) if share > 0]
        if not portions:
            break  # all other sources are at their caps
        claimed = yield from claim_bulk(state, queue, [portion for portion in portions if not portion[0].lanes])
        more, moved = yield from claim_lanes(state, queue, [portion for portion in portions if portion[0].lanes])
        claimed += more
        sources = [
            source
            for source, share in zip(sources, shares_given, strict=True)
            if can_have_more(source, share, claimed) or (source.lanes and source.channel in moved)
        ]


def can_have_more(source: ClaimSource, share: int, claimed: Sequence[Job]) -> bool:
    """Return whether a source that gave its share may have more due jobs."""
    source_jobs = [job for job in claimed if job.channel == source.channel and (job.lane is not None) is source.lanes]
    # A channel's brands, and a brand's lanes, divide a share evenly among them, whatever each of them has.
    return len(source_jobs) >= share or any(job.brand is not None and job.lane is not None for job in source_jobs)


def count_room(state: ClaimState, sources: Sequence[ClaimSource]) -> Operation[None]:
    """Count how many more jobs may run on each capped channel, under its lock."""
    caps = state.closed.caps
    capped = sorted({source.channel for source in sources} & caps.keys())
    if not capped:
        return
    locked = {row["channel"] for row in (yield ask("lock_caps", channels=capped))}
    counted = yield ask("count_running_jobs", channels=capped)
    for row in counted:
        state.running[row["channel"], row["brand"]] = row["running"]
    for channel in capped:
        running = sum(number for (of, _), number in state.running.items() if of == channel)
        state.room[channel] = caps[channel] - running if channel in locked else 0


def claim_bulk(state: ClaimState, queue: Queue, portions: Sequence[tuple[ClaimSource, int]]) -> Operation[list[Job]]:
    """Claim jobs without account and brand."""
    rows = [row for portion in portions for row in list_bulk_rows(state, queue, *portion)]
    if len(rows) > len(portions):
        rows = yield from divide_by_type(queue, rows)
    claimed = yield each(
        "claim_bulk_jobs",
        rows,
        queue=queue.value,
        queue_name=queue.label,
        counted=sorted(state.room),
        **state.make_claim_params(),
    )
    jobs = to_unfinished_jobs(claimed)
    state.add_jobs(jobs)
    return jobs


def list_bulk_rows(state: ClaimState, queue: Queue, source: ClaimSource, share: int) -> list[dict[str, Any]]:
    """Return a row for each type of a source, each with the whole share."""
    marks = state.request.marks
    return [
        {
            "channel": source.channel,
            "type": type_,
            "share": share,
            "since_at": marks.get((source.channel, type_, queue), LONG_AGO),
        }
        for type_ in source.types
    ]


def divide_by_type(queue: Queue, rows: Sequence[dict[str, Any]]) -> Operation[list[dict[str, Any]]]:
    """Divide the share of a channel among its types, so that the jobs that are due first are claimed."""
    found = yield each("find_due_times", rows, queue=queue.value)
    due: dict[str, list[tuple[str, datetime]]] = defaultdict(list)
    for job in found:
        due[job["channel"]].append((job["type"], job["run_at"]))
    divided = []
    for row in rows:
        share = count_earliest(due[row["channel"]], row["share"]).get(row["type"], 0)
        divided += [row | {"share": share}] if share else []
    return divided


def claim_started(state: ClaimState, sources: Sequence[ClaimSource]) -> Operation[None]:
    """Claim jobs of which something was sent, and posts that ignore blackouts.

    They go first: they are few, and a person waits for them.
    """
    limits = state.list_brand_limits()
    while sources and len(state.claimed) < state.request.free:
        shares_given = divide_slots(state.request.free - len(state.claimed), sources, state.room)
        shares = {source.channel: share for source, share in zip(sources, shares_given, strict=True)}
        full = list_full_brands(limits, state.running)
        rows = [
            {
                "channel": source.channel,
                "type": type_,
                "share": shares[source.channel],
                "full_brands": json.dumps(full.get(source.channel, [])),
            }
            for source in sources
            for type_ in source.types
            if shares[source.channel] > 0
        ]
        locked = yield each("lock_started_jobs", rows, kinds=sorted(BLOCKS_STARTED), **state.make_started_params())
        started = yield from admit_probes(choose_earliest(locked, shares, limits, state.running))
        admitted = [{name: row[name] for name in ("channel", "lane", "id")} for row in started]
        jobs = to_unfinished_jobs((yield each("claim_started_jobs", admitted, **state.make_claim_params())))
        busy = [{"channel": job.channel, "lane": job.lane} for job in jobs if job.account is not None]
        yield each("delete_lane_due", busy)
        state.add_jobs(jobs)
        # An account gives one job at a time, however many of its jobs are due.
        sources = [source for source in sources if any(job.channel == source.channel for job in jobs)]


def choose_earliest(
    locked: Sequence[Row],
    shares: Mapping[str, int],
    limits: Mapping[str, int],
    running: Mapping[tuple[str, str], int],
) -> list[Row]:
    """Return each lane's first job, the longest waiting first, within the shares of channels and limits of brands."""
    chosen: dict[tuple[str, str], Row] = {}
    left, held = dict(shares), Counter(running)
    for row in sorted(locked, key=lambda row: row["run_at"]):
        channel, lane, brand = row["channel"], row["lane"], row["brand"]
        is_full = brand is not None and held[channel, brand] >= limits.get(channel, held[channel, brand] + 1)
        if (channel, lane) not in chosen and left[channel] > 0 and not is_full:
            chosen[channel, lane] = row
            left[channel] -= 1
            held[channel, brand or ""] += 1
    return list(chosen.values())
