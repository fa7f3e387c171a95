"""Run jobs that do nothing, from the first handler's mark until the store contains the end of every job."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from benchmarks.install import Installed
from benchmarks.subjects import POSTGRES_PEERS
from benchmarks.trial import Failed, Store, Trial
from benchmarks.workload import Figure, Stage, Target, Workload

JOBS = 20_000
CONCURRENCY = 200
TO_BEGIN = 30.0
LONGEST = 12.0  # seconds: a slower contestant is judged by what it had done by then


def drain(
    stage: Stage, installed: Installed, workers: int = 1, store: Store = "postgres", **batch: Any
) -> Mapping[str, float]:
    count = stage.size(JOBS)
    with Trial(stage.server, installed, store) as trial:
        trial.ask("bulk", count=count, **batch)
        trial.count_unfinished()  # connects, so that counting begins at once when the time comes
        trial.start(CONCURRENCY, workers)
        if not trial.marks.wait_for(1, TO_BEGIN, trial.check):
            raise Failed(f"{installed.subject.title} began nothing within {TO_BEGIN:.0f} s.")
        seconds_to_finish = LONGEST if trial.marks.wait_for(count, LONGEST, trial.check) else 0
        left, ended_at = trial.wait_until_finished(seconds_to_finish)
        marks = trial.marks.read()
    first_at = min(mark.started_at for mark in marks)
    return {"rate": (count - left) / (ended_at - first_at), "twice": len(marks) - len({mark.number for mark in marks})}


def rate(title: str, *targets: Target) -> tuple[Figure, ...]:
    return Figure("rate", title, "jobs/s", more_is_better=True, targets=targets), TWICE


TWICE = Figure("twice", "jobs run twice", "jobs", targets=(Target(0),))

WORKLOADS = (
    Workload(
        "drain",
        "20,000 no-op jobs, one process",
        ("postino", *POSTGRES_PEERS, "raw_pipeline"),
        rate("drained", Target(2.5, "pgqueuer"), Target(1, "graphile"), Target(0.4, "raw_pipeline")),
        drain,
    ),
    Workload(
        "drain-two",
        "20,000 no-op jobs, two processes",
        ("postino", "pgqueuer", "graphile"),
        rate("drained by two", Target(1.5, "pgqueuer")),
        partial(drain, workers=2),
    ),
    Workload(
        "drain-lanes",
        "20,000 no-op jobs of 200 accounts, one at a time each",
        ("postino",),
        rate("drained through 200 lanes", Target(5_000)),
        partial(drain, accounts=200),
    ),
    Workload(
        "drain-sqlite",
        "20,000 no-op jobs on SQLite at synchronous=FULL",
        ("postino", "huey"),
        rate("drained on SQLite", Target(5, "huey")),
        partial(drain, store="sqlite"),
    ),
)
