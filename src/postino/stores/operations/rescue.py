"""Writing what became of jobs: fenced by the claim's token; history, events and dead letters with it."""

from collections.abc import Mapping

from postino.stores import rows
from postino.stores.operations.settle import settle
from postino.stores.records import Decide, Ending, Failure
from postino.stores.statement import Operation, ask, each

WORKER_DIED = Failure(None, "Its worker died.")
DEADLINE_PASSED = Failure(None, "Its deadline passed, and its worker had not ended it.")


def rescue(dead: Mapping[str, int], decide: Decide) -> Operation[list[Ending]]:
    buried = yield each("bury", [{"id": worker, "beats": beats} for worker, beats in dead.items()])
    suspects = {row["worker"]: row["suspect"] for row in buried}
    found = yield ask("lock_orphans")
    clock = yield ask("clock")
    endings = []
    for job, row in zip(rows.live_jobs(found), found, strict=True):
        suspect = row["suspect"] if row["overdue"] else suspects.get(job.claimed_by, str(job.id))
        settlement = decide(job, clock[0]["now_at"], suspect == str(job.id))
        endings.append(Ending(job, settlement, DEADLINE_PASSED if row["overdue"] else WORKER_DIED))
    yield from settle(endings)
    return endings
