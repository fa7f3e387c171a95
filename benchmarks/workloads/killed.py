"""Kill a worker with SIGKILL in the middle of 2,000 jobs, and start another one at once."""

import time
from collections.abc import Mapping

from benchmarks.install import Installed
from benchmarks.subjects import POSTGRES_PEERS
from benchmarks.trial import Failed, Trial
from benchmarks.workload import Figure, Stage, Target, Workload
from postino.config import WorkerConfig

JOBS, CONCURRENCY = 2_000, 20
BEFORE = 1.5  # seconds of work before the kill
TO_BEGIN, LONGEST = 30.0, 60.0


def kill_worker(stage: Stage, installed: Installed) -> Mapping[str, float]:
    count = stage.size(JOBS)
    with Trial(stage.server, installed) as trial:
        trial.ask("bulk", count=count, kind="nap")
        trial.start(CONCURRENCY)
        if not trial.marks.wait_for(1, TO_BEGIN, trial.check):
            raise Failed(f"{installed.subject.title} began nothing within {TO_BEGIN:.0f} s.")
        time.sleep(BEFORE * min(1, stage.scale))
        trial.kill()
        restarted_at = time.time()
        trial.start(CONCURRENCY)
        while trial.marks.distinct() < count and time.time() - restarted_at < LONGEST:
            trial.check()
            time.sleep(0.2)
        marks = trial.marks.read()
    unrun = count - len({mark.number for mark in marks})
    last_at = max(mark.started_at for mark in marks)
    return {"unrun": unrun, "seconds": LONGEST if unrun else max(0, last_at - restarted_at)}


WORKLOADS = (
    Workload(
        "killed",
        "kill -9 in the middle of 2,000 jobs of 50 ms, and a new worker",
        ("postino", *POSTGRES_PEERS),
        (
            Figure("unrun", "jobs not run after 60 s", "jobs", targets=(Target(0),)),
            Figure(
                "seconds", "time from the restart to the last job", "s", targets=(Target(WorkerConfig().lease + 5),)
            ),
        ),
        kill_worker,
        most_rounds=1,
    ),
)
