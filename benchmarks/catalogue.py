"""All workloads by name."""

from benchmarks.workload import Workload
from benchmarks.workloads import (
    accept,
    attack,
    brands,
    crowds,
    dispatch,
    drain,
    enqueue,
    flow,
    gates,
    household,
    killed,
    lists,
    naps,
    outage,
    punctual,
    stream,
    witness,
)

PARTS = (
    drain, enqueue, punctual, crowds, dispatch, naps, killed, flow, outage, brands, gates, witness,
    accept, stream, household, attack, lists,
)  # fmt: skip
WORKLOADS: dict[str, Workload] = {workload.name: workload for part in PARTS for workload in part.WORKLOADS}


def chosen(names: str, *, large: bool) -> list[Workload]:
    """Return the workloads named, separated by commas; without names, all of the normal or the large run."""
    if not names:
        return [workload for workload in WORKLOADS.values() if workload.large is large]
    for unknown in set(names.split(",")) - set(WORKLOADS):
        raise SystemExit(f"There is no workload {unknown!r}. There are: {', '.join(WORKLOADS)}.")
    return [WORKLOADS[name] for name in names.split(",")]
