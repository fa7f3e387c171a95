"""A workload: the work of each contestant, the figures that it yields, and the targets for Postino."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from benchmarks.install import Installed
from tests.servers.postgres import PostgresServer

BEST_PEER = "best peer"


@dataclass(frozen=True)
class Target:
    """A bound on Postino's figure: a number, or a multiple of another contestant's figure."""

    bound: float
    of: str | None = None  # the name of a contestant, or BEST_PEER


@dataclass(frozen=True)
class Figure:
    key: str
    title: str
    unit: str
    more_is_better: bool = False
    targets: tuple[Target, ...] = ()


@dataclass(frozen=True)
class Stage:
    """The server of this run, and the scale of the workloads."""

    server: PostgresServer
    scale: float = 1.0

    def size(self, full: int) -> int:
        return max(20, int(full * self.scale))


Measure = Callable[[Stage, Installed], Mapping[str, float]]


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    contestants: tuple[str, ...]
    figures: tuple[Figure, ...]
    measure: Measure = field(repr=False)
    most_rounds: int = 1_000  # long workloads run fewer rounds
    large: bool = False  # part of `make bench-large` only


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
