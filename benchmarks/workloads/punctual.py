"""Measure how late jobs start: after an enqueue into an idle queue, and when 1,000 jobs are due at once."""

import math
import statistics
import time
from collections.abc import Mapping

from benchmarks.install import Installed
from benchmarks.subjects import POSTGRES_PEERS
from benchmarks.trial import Failed, Trial
from benchmarks.workload import BEST_PEER, Figure, Stage, Target, Workload, percentile

ENQUEUES, GAP, CONCURRENCY_IDLE = 150, 0.1, 10
WARMING = 2  # the first enqueues connect
TOGETHER, CONCURRENCY_DUE = 1_000, 200
SETTLED = 3.0  # seconds until a worker has started and found nothing to do
LEAD, PATIENCE = 4.0, 15.0


def idle(stage: Stage, installed: Installed) -> Mapping[str, float]:
    count = stage.size(ENQUEUES)
    with Trial(stage.server, installed) as trial:
        trial.start(CONCURRENCY_IDLE)
        time.sleep(SETTLED)
        trial.ask("paced", count=count, gap=GAP)
        if not trial.marks.wait_for(count, PATIENCE, trial.check):
            raise Failed(f"{installed.subject.title} began {trial.marks.count()} of {count} in time.")
        waits = [(mark.started_at - mark.wanted_at) * 1000 for mark in trial.marks.read() if mark.number >= WARMING]
    return {"p50": statistics.median(waits), "p99": percentile(waits, 0.99)}


def due(stage: Stage, installed: Installed) -> Mapping[str, float]:
    count = stage.size(TOGETHER)
    with Trial(stage.server, installed) as trial:
        trial.start(CONCURRENCY_DUE)
        time.sleep(SETTLED)
        at = math.ceil(time.time() + LEAD)
        trial.ask("bulk", count=count, at=at)
        if time.time() > at:
            raise Failed(f"{installed.subject.title} took longer than {LEAD:.0f} s to enqueue {count} jobs.")
        trial.marks.wait_for(count, at - time.time() + PATIENCE, trial.check)
        late = [(mark.started_at - mark.wanted_at) * 1000 for mark in trial.marks.read()]
    late += [PATIENCE * 1000] * (count - len(late))  # never started: late by all the time there was
    return {"p99": percentile(late, 0.99), "early": sum(lateness < 0 for lateness in late)}


WORKLOADS = (
    Workload(
        "idle",
        "150 enqueues into an idle queue, one every 100 ms",
        ("postino", *POSTGRES_PEERS),
        (
            Figure("p50", "time from enqueue to start, p50", "ms", targets=(Target(1, BEST_PEER),)),
            Figure("p99", "time from enqueue to start, p99", "ms", targets=(Target(1, BEST_PEER),)),
        ),
        idle,
        most_rounds=3,
    ),
    Workload(
        "due",
        "1,000 jobs due at one instant",
        ("postino", *POSTGRES_PEERS),
        (
            Figure("p99", "lateness, p99", "ms", targets=(Target(0.25, BEST_PEER),)),
            Figure("early", "jobs started early", "jobs", targets=(Target(0),)),
        ),
        due,
        most_rounds=3,
    ),
)
