"""Writing what became of jobs: fenced by the claim's token; history, events and dead letters with it."""

from collections.abc import Mapping

from postino.stores import rows
from postino.stores.operations.settle import settle
from postino.stores.records import AttemptError, RescueRule, SettledJob
from postino.stores.statement import Operation, ask, each

WORKER_DIED = AttemptError(None, "Its worker died.")
DEADLINE_PASSED = AttemptError(None, "Its deadline passed, and its worker had not ended it.")


def rescue(dead: Mapping[str, int], decide: RescueRule) -> Operation[list[SettledJob]]:
    buried = yield each(
        "remove_dead_worker", [{"id": worker, "beats": heartbeats} for worker, heartbeats in dead.items()]
    )
    suspects = {row["worker"]: row["suspect"] for row in buried}
    found = yield ask("lock_orphans")
    clock = yield ask("get_time")
    endings = []
    for job, row in zip(rows.live_jobs(found), found, strict=True):
        suspect = row["suspect"] if row["overdue"] else suspects.get(job.claimed_by, str(job.id))
        settlement = decide(job, clock[0]["now_at"], suspect == str(job.id))
        endings.append(SettledJob(job, settlement, DEADLINE_PASSED if row["overdue"] else WORKER_DIED))
    yield from settle(endings)
    return endings
