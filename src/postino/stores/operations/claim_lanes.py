"""Claims from lanes: an account's lane gives one job at a time, and brands take turns."""

from collections.abc import Iterable, Mapping, Sequence

from postino.rules.claim_order import BrandTurn, compute_brand_room, divide_share, order_brands
from postino.stores.operations.claim_state import ClaimState
from postino.stores.rows import to_live_jobs
from postino.stores.statement import Operation, Row, each
from postino.values.job import Job, Queue


def claim_lanes(state: ClaimState, queue: Queue, shares: Mapping[str, int]) -> Operation[tuple[list[Job], set[str]]]:
    """Claim jobs from lanes; return them, and the channels on which lanes that only seemed due have moved."""
    yield from defer_closed_lanes(state, queue, shares)
    rows = yield each("find_ready_brands", [{"channel": channel} for channel in shares], queue=queue.value)
    ready = [BrandTurn(row["channel"], row["brand"], row["served_at"]) for row in rows]
    room = compute_brand_room(state.closed.caps, state.running, ready)
    portions_given = [
        portion
        for channel, share in shares.items()
        for portion in divide_share(
            share, order_brands([turn for turn in ready if turn.channel == channel], state.closed), room
        )
    ]
    locked = yield each(
        "lock_ready_lanes",
        [{"channel": turn.channel, "brand": turn.brand, "share": share} for turn, share in portions_given],
        queue=queue.value,
    )
    open_lanes = [lane for lane in locked if lane["account"] not in state.closed.accounts]
    lanes = compute_widths(open_lanes, {(turn.channel, turn.brand): share for turn, share in portions_given})
    claimed = yield each(
        "claim_lane_jobs", lanes, queue=queue.value, closed_brand=list(state.closed.brands), **state.make_claim_params()
    )
    jobs = to_live_jobs(claimed)
    state.add_jobs(jobs)
    moved = yield from reschedule_lanes(state, locked, jobs)
    if any(turn.brand for turn in ready):
        served = sorted({(job.channel, job.brand or "") for job in jobs})
        yield each("record_brand_turns", [{"channel": channel, "brand": brand} for channel, brand in served])
    return jobs, moved & {lane["channel"] for lane in locked}


def defer_closed_lanes(state: ClaimState, queue: Queue, channels: Iterable[str]) -> Operation[None]:
    """Move lanes that became due after a blackout of their brand or account began to its end."""
    shut = {"closed_brand": list(state.closed.brands), "closed_account": list(state.closed.accounts)}
    if any(shut.values()):
        lines = [{"channel": channel} for channel in channels]
        lanes = yield each("lock_closed_lanes", lines, queue=queue.value, **shut)
        yield each("update_lane_due", lanes, **state.make_lane_params())


def reschedule_lanes(state: ClaimState, lanes: Sequence[Row], jobs: Sequence[Job]) -> Operation[set[str]]:
    """Compute when these lanes are next due; return the channels of those that were not due after all."""
    busy = {(job.channel, job.lane) for job in jobs if job.account is not None}
    names = [{"channel": lane["channel"], "lane": lane["lane"]} for lane in lanes]
    yield each("delete_lane_due", [lane for lane in names if (lane["channel"], lane["lane"]) in busy])
    others = [lane for lane in names if (lane["channel"], lane["lane"]) not in busy]
    updated = yield each("update_lane_due", others, **state.make_lane_params())
    still_due = {(row["channel"], row["lane"]) for row in updated if row["due_at"] <= state.now}
    return {lane["channel"] for lane in others if (lane["channel"], lane["lane"]) not in still_due}


def compute_widths(lanes: Sequence[Row], share: Mapping[tuple[str, str], int]) -> list[dict[str, object]]:
    """Return how many jobs each lane may give: an account's one, a brand's its part of what the share leaves."""
    widths: list[dict[str, object]] = []
    for (channel, brand), limit in share.items():
        brand_lanes = [lane for lane in lanes if (lane["channel"], lane["brand"]) == (channel, brand)]
        wide = sum(lane["account"] is None for lane in brand_lanes)
        spare = (limit - len(brand_lanes)) // wide if wide else 0
        widths += [
            {"channel": channel, "lane": lane["lane"], "width": 1 if lane["account"] is not None else 1 + spare}
            for lane in brand_lanes
        ]
    return widths
