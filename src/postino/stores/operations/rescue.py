"""Rescue: remove dead workers and settle the jobs that nobody holds any more."""

from collections.abc import Mapping

from postino.stores.operations.settle import settle
from postino.stores.records import AttemptError, RescueRule, SettledJob
from postino.stores.rows import to_live_jobs
from postino.stores.statement import Operation, ask, each

WORKER_DIED = AttemptError(None, "Its worker died.")
DEADLINE_PASSED = AttemptError(None, "Its deadline passed before its worker ended it.")


def rescue(dead: Mapping[str, int], decide: RescueRule) -> Operation[list[SettledJob]]:
    """Remove workers whose heartbeats still stand where they were seen, and settle every job nobody holds."""
    removed = yield each(
        "remove_dead_worker", [{"id": worker, "heartbeats": heartbeats} for worker, heartbeats in dead.items()]
    )
    suspects = {row["worker"]: row["suspect"] for row in removed}
    rows = yield ask("lock_orphans")
    clock = yield ask("get_time")
    settled = []
    for job, row in zip(to_live_jobs(rows), rows, strict=True):
        suspect = row["suspect"] if row["overdue"] else suspects.get(job.claimed_by, str(job.id))
        settlement = decide(job, clock[0]["now_at"], suspect == str(job.id))
        settled.append(SettledJob(job, settlement, DEADLINE_PASSED if row["overdue"] else WORKER_DIED))
    yield from settle(settled)
    return settled
