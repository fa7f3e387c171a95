"""Claims: one winner per job, nothing behind a closed gate, caps counted under their lock.

`rules.claim_order` decides the order and the shares; these statements take the jobs.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from postino.rules.circuit_breaker import CircuitState
from postino.rules.claim_order import ClaimSource, divide_slots, list_open_sources, order_queues
from postino.rules.gates import BLOCKS_STARTED, GateSources, compute_closed_gates
from postino.stores.operations.circuits import half_open_circuits
from postino.stores.operations.claim_lanes import claim_lanes
from postino.stores.operations.claim_state import ClaimState
from postino.stores.operations.gates import read_gate_sources
from postino.stores.operations.lane_hints import fold_hints, read_hints
from postino.stores.operations.post_events import PostEvent, write_post_events
from postino.stores.records import ClaimRequest
from postino.stores.rows import to_live_jobs
from postino.stores.statement import Operation, ask, each
from postino.values.event import EventType
from postino.values.job import Job, Queue

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
    # Hints first, gates later: the other way round, a gate opened in between would stay closed to the lanes it hinted.
    hinted = (yield from read_hints()) if request.poll.hinted else []
    if not is_single_statement(request):
        gate_sources, now = yield from read_gate_sources()
    state = ClaimState(request, gate_sources, now, compute_closed_gates(gate_sources, now))
    heads = tuple(merge_heads([*request.poll.heads, *(yield from fold_hints(state, hinted))]))
    sources = list_open_sources(heads, state.closed, now)
    yield from count_room(state, sources)
    yield from half_open_waiting(gate_sources, sources)
    yield from claim_started(state, [source for source in sources if source.started])
    sources = [source for source in sources if not source.started]
    for queue, most in order_queues(sources, request.free, now, request.low_is_running):
        due = [source for source in sources if source.queue is queue]
        yield from claim_queue(state, queue, due, min(len(state.claimed) + most, request.free))
    yield from write_post_events(
        PostEvent(EventType.POST_PUBLISHING, job, {"attempts": job.attempts}) for job in state.claimed
    )
    return state.claimed


def half_open_waiting(gate_sources: GateSources, sources: Sequence[ClaimSource]) -> Operation[None]:
    """Half-open the circuits whose time is over and for whose channels jobs wait."""
    waiting = {source.channel for source in sources}
    expired = {breaker.service for breaker in gate_sources.breakers if breaker.state is CircuitState.OPEN} & waiting
    if expired:
        yield from half_open_circuits(expired)


def claim_queue(state: ClaimState, queue: Queue, sources: Sequence[ClaimSource], most: int) -> Operation[None]:
    """Claim shares of a queue, and shares of what is left, until all is given: rank goes before fairness."""
    while sources and len(state.claimed) < most:
        shares_given = divide_slots(most - len(state.claimed), sources, state.room)
        portions = [(source, share) for source, share in zip(sources, shares_given, strict=True) if share > 0]
        if not portions:
            break  # all other lines are at their caps
        claimed = yield from claim_bulk(state, queue, [portion for portion in portions if not portion[0].lanes])
        more, moved = yield from claim_lanes(
            state, queue, {source.channel: share for source, share in portions if source.lanes}
        )
        claimed += more
        sources = [
            source
            for source, share in zip(sources, shares_given, strict=True)
            if can_have_more(source, share, claimed) or (source.lanes and source.channel in moved)
        ]


def can_have_more(source: ClaimSource, share: int, claimed: Sequence[Job]) -> bool:
    """Return whether a line that gave its share may have more due jobs."""
    line_jobs = [job for job in claimed if job.channel == source.channel and (job.lane is not None) is source.lanes]
    # A channel's brands, and a brand's lanes, divide a share evenly among them, whatever each of them has.
    return len(line_jobs) >= share or any(job.brand is not None and job.lane is not None for job in line_jobs)


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
    marks = state.request.marks
    claimed = yield each(
        "claim_bulk_jobs",
        [
            {"channel": source.channel, "share": share, "since_at": marks.get((source.channel, queue), LONG_AGO)}
            for source, share in portions
        ],
        queue=queue.value,
        queue_name=queue.label,
        counted=sorted(state.room),
        **state.make_claim_params(),
    )
    jobs = to_live_jobs(claimed)
    state.add_jobs(jobs)
    return jobs


def claim_started(state: ClaimState, sources: Sequence[ClaimSource]) -> Operation[None]:
    """Claim jobs of which something was sent, and posts that ignore blackouts.

    They go first: there are few, and somebody waits for them.
    """
    while sources and len(state.claimed) < state.request.free:
        shares_given = divide_slots(state.request.free - len(state.claimed), sources, state.room)
        portions = [
            {"channel": source.channel, "share": share}
            for source, share in zip(sources, shares_given, strict=True)
            if share > 0
        ]
        started = yield each("lock_started_jobs", portions, kinds=sorted(BLOCKS_STARTED), **state.make_started_params())
        jobs = to_live_jobs((yield each("claim_started_jobs", started, **state.make_claim_params())))
        busy = [{"channel": job.channel, "lane": job.lane} for job in jobs if job.account is not None]
        yield each("delete_lane_due", busy)
        state.add_jobs(jobs)
        # An account gives one job at a time, however many of its jobs are at the head of the line.
        sources = [source for source in sources if any(job.channel == source.channel for job in jobs)]


def merge_heads(heads: Sequence[ClaimSource]) -> list[ClaimSource]:
    """Return each line once, with its earliest due time: the poll and a hint may both name it."""
    first: dict[tuple[str, Queue, bool, bool], ClaimSource] = {}
    for head in heads:
        source = head.channel, head.queue, head.lanes, head.started
        first[source] = min(head, first.get(source, head), key=lambda line_head: line_head.due_at)
    return list(first.values())
