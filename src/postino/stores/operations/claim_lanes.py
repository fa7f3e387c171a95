"""Taking jobs: one transaction, one winner, closed gates left alone."""

from collections.abc import Iterable, Mapping, Sequence

from postino.rules.claim_order import Turn, brand_room, in_turn, portions
from postino.stores import rows
from postino.stores.operations.claim_state import ClaimState
from postino.stores.statement import Operation, Row, each
from postino.values.job import Job, Queue


def claim_lanes(taking: ClaimState, queue: Queue, given: Mapping[str, int]) -> Operation[tuple[list[Job], set[str]]]:
    """The jobs, and the channels on which lanes that only seemed to be ready are out of the way now."""
    yield from defer_closed_lanes(taking, queue, given)
    found = yield each("find_ready_brands", [{"channel": channel} for channel in given], queue=queue.value)
    ready = [Turn(row["channel"], row["brand"], row["served_at"]) for row in found]
    room = brand_room(taking.closed.caps, taking.running, ready)
    ours = [
        portion
        for channel, share in given.items()
        for portion in portions(share, in_turn([it for it in ready if it.channel == channel], taking.closed), room)
    ]
    locked = yield each(
        "lock_ready_lanes",
        [{"channel": turn.channel, "brand": turn.brand, "share": share} for turn, share in ours],
        queue=queue.value,
    )
    ours_open = [lane for lane in locked if lane["account"] not in taking.closed.accounts]
    lanes = compute_widths(ours_open, {(turn.channel, turn.brand): share for turn, share in ours})
    claimed = yield each(
        "claim_lane_jobs", lanes, queue=queue.value, shut_brand=list(taking.closed.brands), **taking.terms()
    )
    jobs = rows.live_jobs(claimed)
    taking.take(jobs)
    moved = yield from reschedule_lanes(taking, locked, jobs)
    if any(turn.brand for turn in ready):
        served = sorted({(job.channel, job.brand or "") for job in jobs})
        yield each("record_brand_turns", [{"channel": channel, "brand": brand} for channel, brand in served])
    return jobs, moved & {lane["channel"] for lane in locked}


def defer_closed_lanes(taking: ClaimState, queue: Queue, channels: Iterable[str]) -> Operation[None]:
    """Lanes that became due after a blackout of their brand or account had begun wait for its end."""
    shut = {"shut_brand": list(taking.closed.brands), "shut_account": list(taking.closed.accounts)}
    if any(shut.values()):
        wanted = [{"channel": channel} for channel in channels]
        lanes = yield each("lock_closed_lanes", wanted, queue=queue.value, **shut)
        yield each("update_lane_due", lanes, **taking.shut())


def reschedule_lanes(taking: ClaimState, lanes: Sequence[Row], jobs: Sequence[Job]) -> Operation[set[str]]:
    """When these lanes have something to do next; the channels of those that were not ready after all."""
    busy = {(job.channel, job.lane) for job in jobs if job.account is not None}
    theirs = [{"channel": lane["channel"], "lane": lane["lane"]} for lane in lanes]
    yield each("delete_lane_due", [lane for lane in theirs if (lane["channel"], lane["lane"]) in busy])
    again = [lane for lane in theirs if (lane["channel"], lane["lane"]) not in busy]
    armed = yield each("update_lane_due", again, **taking.shut())
    still = {(row["channel"], row["lane"]) for row in armed if row["due_at"] <= taking.now}
    return {lane["channel"] for lane in again if (lane["channel"], lane["lane"]) not in still}


def compute_widths(lanes: Sequence[Row], share: Mapping[tuple[str, str], int]) -> list[dict[str, object]]:
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
