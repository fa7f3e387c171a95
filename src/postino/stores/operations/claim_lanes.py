"""Claims from lanes: an account's lane gives one job at a time, and brands take turns."""

from collections.abc import Iterable, Mapping, Sequence

from postino.rules.claim_order import BrandTurn, ClaimSource, compute_brand_room, divide_share, order_brands
from postino.stores.operations.circuits import admit_probes
from postino.stores.operations.claim_state import ClaimState
from postino.stores.rows import to_unfinished_jobs
from postino.stores.statement import Operation, Row, each
from postino.values.job import Job, Queue


def claim_lanes(
    state: ClaimState, queue: Queue, portions: Sequence[tuple[ClaimSource, int]]
) -> Operation[tuple[list[Job], set[str]]]:
    """Claim jobs from lanes; return them, and the channels with lanes whose stored due time was too early."""
    shares = {source.channel: share for source, share in portions}
    yield from defer_closed_lanes(state, queue, shares)
    by_type = [{"channel": source.channel, "type": type_} for source, _ in portions for type_ in source.types]
    rows = yield each("find_ready_brands", by_type, queue=queue.value)
    types: dict[BrandTurn, list[str]] = {}
    for row in rows:
        types.setdefault(BrandTurn(row["channel"], row["brand"], row["served_at"]), []).append(row["type"])
    ready = list(types)
    is_first = state.is_first and queue is Queue.HIGH
    room = compute_brand_room(state.closed.caps, state.running, ready, is_first=is_first)
    portions_given = [
        portion
        for channel, share in shares.items()
        for portion in divide_share(
            share, order_brands([turn for turn in ready if turn.channel == channel], state.closed), room
        )
    ]
    # One row for each lane, brand and type.
    locked = yield each(
        "lock_ready_lanes",
        [
            {"channel": turn.channel, "brand": turn.brand, "type": type_, "share": share}
            for turn, share in portions_given
            for type_ in types[turn]
        ],
        queue=queue.value,
    )
    open_lanes = yield from admit_probes([lane for lane in locked if lane["account"] not in state.closed.accounts])
    lanes = compute_lane_limits(
        choose_first_jobs(open_lanes), {(turn.channel, turn.brand): share for turn, share in portions_given}
    )
    claimed = yield each("claim_lane_jobs", lanes, queue=queue.value, **state.make_claim_params())
    jobs = to_unfinished_jobs(claimed)
    state.add_jobs(jobs)
    moved = yield from reschedule_lanes(state, locked, jobs)
    if any(turn.brand for turn in ready):
        served = sorted({(job.channel, job.brand or "") for job in jobs})
        yield each("record_brand_turns", [{"channel": channel, "brand": brand} for channel, brand in served])
    return jobs, moved


def defer_closed_lanes(state: ClaimState, queue: Queue, channels: Iterable[str]) -> Operation[None]:
    """Move due lanes of closed brands, and of accounts in a blackout, to the time when they may run next."""
    shut = {"closed_brand": list(state.closed.brands), "closed_account": list(state.closed.accounts)}
    if any(shut.values()):
        rows = [{"channel": channel} for channel in channels]
        lanes = yield each("lock_closed_lanes", rows, queue=queue.value, **shut)
        yield each("update_lane_due", lanes, **state.make_lane_params())


def reschedule_lanes(state: ClaimState, lanes: Sequence[Row], jobs: Sequence[Job]) -> Operation[set[str]]:
    """Compute when these lanes are next due; return the channels of those that were not due after all."""
    busy = {(job.channel, job.lane) for job in jobs if job.account is not None}
    names = dict.fromkeys((lane["channel"], lane["lane"]) for lane in lanes)
    yield each(
        "delete_lane_due", [{"channel": channel, "lane": lane} for channel, lane in names if (channel, lane) in busy]
    )
    others = [{"channel": channel, "lane": lane} for channel, lane in names if (channel, lane) not in busy]
    updated = yield each("update_lane_due", others, **state.make_lane_params())
    still_due = {(row["channel"], row["lane"]) for row in updated if row["due_at"] <= state.now}
    return {lane["channel"] for lane in others if (lane["channel"], lane["lane"]) not in still_due}


def choose_first_jobs(lanes: Sequence[Row]) -> list[Row]:
    """Return each lane once, the longest waiting first: for the brand and the type of its first job."""
    chosen: dict[tuple[str, str], Row] = {}
    for lane in sorted(lanes, key=lambda lane: lane["due_at"]):
        chosen.setdefault((lane["channel"], lane["lane"]), lane)
    return list(chosen.values())


def compute_lane_limits(lanes: Sequence[Row], brand_shares: Mapping[tuple[str, str], int]) -> list[dict[str, object]]:
    """Return the maximum number of jobs to claim from each lane.

    A lane of an account gives one job. Lanes of a brand without an account give one job each, and divide the rest of
    the brand's share evenly.
    """
    limits: list[dict[str, object]] = []
    for (channel, brand), limit in brand_shares.items():
        brand_lanes = [lane for lane in lanes if (lane["channel"], lane["brand"]) == (channel, brand)][:limit]
        without_account = sum(lane["account"] is None for lane in brand_lanes)
        spare = (limit - len(brand_lanes)) // without_account if without_account else 0
        limits += [
            {
                "channel": channel,
                "lane": lane["lane"],
                "brand": brand,
                "type": lane["type"],
                "lane_limit": 1 if lane["account"] is not None else 1 + spare,
            }
            for lane in brand_lanes
        ]
    return limits
