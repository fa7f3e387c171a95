"""Enqueue jobs: single ones by many callers, and 10,000 at a time by one caller."""

from collections.abc import Mapping
from functools import partial

from benchmarks.install import Installed
from benchmarks.subjects import POSTGRES_PEERS
from benchmarks.trial import Trial
from benchmarks.workload import Figure, Stage, Target, Workload

SECONDS = 3.0
MOST = 200_000
BULK = 10_000


def single(stage: Stage, installed: Installed, callers: int) -> Mapping[str, float]:
    with Trial(stage.server, installed) as trial:
        seconds = max(0.2, SECONDS * min(1, stage.scale))
        result = trial.ask("single", callers=callers, seconds=seconds, most=stage.size(MOST))
    return {"rate": result["jobs"] / result["seconds"]}


def bulk(stage: Stage, installed: Installed, keyed: bool) -> Mapping[str, float]:
    with Trial(stage.server, installed) as trial:
        result = trial.ask("bulk", count=stage.size(BULK), keyed=keyed)
    return {"rate": result["jobs"] / result["seconds"]}


def rate(title: str, target: Target) -> tuple[Figure, ...]:
    return (Figure("rate", title, "jobs/s", more_is_better=True, targets=(target,)),)


WORKLOADS = (
    *(
        Workload(
            f"enqueue-{callers}",
            f"single enqueues by {callers} concurrent callers",
            ("postino", *POSTGRES_PEERS),
            rate(f"enqueued by {callers} callers", Target(8, "pgqueuer")),
            partial(single, callers=callers),
        )
        for callers in (16, 100)
    ),
    Workload(
        "bulk-keys",
        "bulk enqueue of 10,000 jobs; Postino stores permanent keys",
        ("postino", *POSTGRES_PEERS),
        rate("enqueued in bulk with keys", Target(1, "pgqueuer")),
        partial(bulk, keyed=True),
    ),
    Workload(
        "bulk",
        "bulk enqueue of 10,000 jobs without keys, beside COPY of the same rows",
        ("postino", "raw_copy"),
        rate("enqueued in bulk", Target(0.6, "raw_copy")),
        partial(bulk, keyed=False),
    ),
)
