"""Unreachable jobs: those that no claim would ever find. There are none, unless Postino has a bug."""

from postino.rules.gates import compute_closed_gates
from postino.stores.operations.claim_state import make_lane_params
from postino.stores.operations.gates import read_gate_sources
from postino.stores.rows import to_unfinished_jobs
from postino.stores.statement import Operation, ask
from postino.values.job import Job


def list_unreachable_jobs() -> Operation[list[Job]]:
    """Return the jobs that no claim would ever find: the first of each channel, or of each lane, queue and brand."""
    jobs = yield from read_unreachable_jobs()
    if jobs:  # a gate that closed between the two statements explains what the first look found
        jobs = yield from read_unreachable_jobs()
    return jobs


def read_unreachable_jobs() -> Operation[list[Job]]:
    """Read the jobs of channels that polls do not know, and those that no gate, hint or due lane accounts for."""
    channels = [row["channel"] for row in (yield ask("list_unknown_channels"))]
    unknown = (yield ask("list_first_jobs", channels=channels)) if channels else []
    sources, now = yield from read_gate_sources()
    closed = compute_closed_gates(sources, now)
    rows = {row["id"]: row for row in (*(yield ask("list_unreachable_jobs", **make_lane_params(closed))), *unknown)}
    return to_unfinished_jobs(list(rows.values()))


def hint_unreachable_jobs() -> Operation[list[Job]]:
    """Make the channels of unreachable jobs known, and hint at their lanes; return the jobs, which claims now find."""
    jobs = yield from list_unreachable_jobs()
    if jobs:
        yield ask("insert_channels", ids=[job.id for job in jobs])
        yield ask("hint_jobs", ids=[job.id for job in jobs])
    return jobs
