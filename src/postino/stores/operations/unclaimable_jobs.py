"""Unclaimable jobs: those whose stored values make every claim of them fail. Nothing that Postino accepts does that."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from postino.rules.gates import compute_closed_gates
from postino.rules.settlement import settle_unclaimable
from postino.stores.operations.claim_state import make_lane_params
from postino.stores.operations.gates import read_gate_sources
from postino.stores.operations.lane_hints import read_hints
from postino.stores.operations.settle import settle
from postino.stores.records import AttemptError, SettledJob
from postino.stores.rows import set_owner, to_unfinished_jobs
from postino.stores.statement import Operation, ask, each
from postino.values.job import Queue, State

MAX_CANDIDATES = 500  # per channel and queue: more than a claim takes


def list_misdated_jobs() -> Operation[list[Any]]:
    """Return the ids of jobs whose time no program can read."""
    return [row["id"] for row in (yield ask("list_misdated_jobs"))]


def find_claim_candidates(token: UUID | None, types: Collection[str]) -> Operation[list[Any]]:
    """Return the ids of jobs that the next claims of these types may take, and that the claim with this token took.

    Applies the hints first, because the claim that failed did not.
    """
    hinted = yield from read_hints()
    sources, now = yield from read_gate_sources()
    yield each("update_lane_due", hinted, **make_lane_params(compute_closed_gates(sources, now)))
    channels = [dict(row) for row in (yield ask("list_channels", types=list(types)))]
    queues = [{**channel, "queue": queue.value} for channel in channels for queue in Queue]
    rows = [*(yield ask("list_claimed_jobs", token=token))]
    rows += yield each("list_bulk_candidates", queues, most=MAX_CANDIDATES)
    rows += yield each("list_lane_candidates", queues, most=MAX_CANDIDATES)
    rows += yield each("list_started_candidates", channels, most=MAX_CANDIDATES)
    return list(dict.fromkeys(row["id"] for row in rows))


def check_claimable(ids: Sequence[Any]) -> Operation[None]:
    """Compute and read what a claim of these jobs would. Raises the error that a claim raises."""
    to_unfinished_jobs((yield ask("read_claimable_jobs", ids=list(ids))))


def set_aside_job(job_id: Any, error: str, token: UUID | None, *, fails: bool) -> Operation[bool]:
    """Take an unclaimable job out of all claims, with values that can be read; return False if it is not there.

    With `fails`, it becomes a dead letter, unless something of it may be live. Otherwise a person must resolve it.
    """
    if not (yield ask("take_unclaimable_job", id=job_id, error=error, token=token)):
        return False
    if fails:
        clock = yield ask("get_time")
        [job] = to_unfinished_jobs((yield ask("lock_job", id=job_id)))
        owned = set_owner(replace(job, state=State.PENDING), "postino", clock[0]["now_at"])
        yield from settle([SettledJob(owned, settle_unclaimable(job, error), AttemptError(None, error))])
    return True
