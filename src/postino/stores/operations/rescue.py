"""Rescue: remove dead workers and settle the jobs that no worker holds."""

from collections.abc import Mapping

from postino.stores.operations.settle import settle
from postino.stores.records import AttemptError, RescueRule, SettledJob
from postino.stores.rows import to_unfinished_jobs
from postino.stores.statement import Operation, ask, each

WORKER_DIED = AttemptError(None, "The worker died.")
DEADLINE_PASSED = AttemptError(None, "The deadline passed before the worker ended the job.")


def rescue(dead: Mapping[str, int], decide: RescueRule) -> Operation[list[SettledJob]]:
    """Remove workers whose heartbeats have not changed, and settle every job that no worker holds."""
    removed = yield each(
        "remove_dead_worker", [{"id": worker, "heartbeats": heartbeats} for worker, heartbeats in dead.items()]
    )
    suspects = {row["worker"]: row["suspect"] for row in removed}
    rows = yield ask("lock_orphans")
    clock = yield ask("get_time")
    settled = []
    for job, row in zip(to_unfinished_jobs(rows), rows, strict=True):
        suspect = row["suspect"] if row["overdue"] else suspects.get(job.claimed_by, str(job.id))
        settlement = decide(job, clock[0]["now_at"], suspect == str(job.id))
        settled.append(SettledJob(job, settlement, DEADLINE_PASSED if row["overdue"] else WORKER_DIED))
    yield from settle(settled)
    return settled
