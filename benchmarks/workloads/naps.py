"""Run 5,000 jobs of 50 ms, 200 at once, and measure the time and the memory of the worker."""

from collections.abc import Mapping

from benchmarks.install import Installed
from benchmarks.subjects import POSTGRES_PEERS
from benchmarks.trial import Failed, Trial
from benchmarks.workload import Figure, Stage, Target, Workload

JOBS, CONCURRENCY, NAP = 5_000, 200, 0.05
TO_BEGIN, LONGEST = 30.0, 30.0


def naps(stage: Stage, installed: Installed) -> Mapping[str, float]:
    count, most = stage.size(JOBS), 0.0
    with Trial(stage.server, installed) as trial:

        def watch() -> None:
            nonlocal most
            trial.check()
            most = max(most, trial.memory())

        trial.ask("bulk", count=count, kind="nap")
        trial.start(CONCURRENCY)
        if not trial.marks.wait_for(1, TO_BEGIN, watch):
            raise Failed(f"{installed.subject.title} began nothing within {TO_BEGIN:.0f} s.")
        trial.marks.wait_for(count, LONGEST, watch)
        ended = [mark.started_at for mark in trial.marks.read()]
    taken = NAP + max(ended) - min(ended)  # a mark is made at the end of its nap
    return {"ideal": taken / (NAP * len(ended) / CONCURRENCY), "memory": most}


WORKLOADS = (
    Workload(
        "naps",
        "5,000 jobs of 50 ms, 200 at once",
        ("postino", *POSTGRES_PEERS),
        (
            Figure("ideal", "time taken, in multiples of the ideal", "×", targets=(Target(1.1),)),
            Figure("memory", "resident memory of the worker", "MB", targets=(Target(80),)),
        ),
        naps,
        most_rounds=3,
    ),
)
