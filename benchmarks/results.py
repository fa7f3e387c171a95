"""The figures of a run: medians with their spread, and whether Postino meets its targets."""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.subjects import SUBJECTS, Role
from benchmarks.workload import BEST_PEER, Figure, Target, Workload

OURS = "postino"


@dataclass(frozen=True)
class Verdict:
    """A target, Postino's figure as a multiple of its reference, and whether Postino meets it; None: no reference."""

    target: Target
    ratio: float | None
    met: bool | None


@dataclass
class Result:
    """The figures of one workload: of each contestant and round, or the reason why there are none."""

    workload: Workload
    rounds: list[tuple[str, Mapping[str, float]]] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)

    def values(self, contestant: str, figure: Figure) -> list[float]:
        return [measured[figure.key] for name, measured in self.rounds if name == contestant and figure.key in measured]

    def median(self, contestant: str, figure: Figure) -> float | None:
        values = self.values(contestant, figure)
        return statistics.median(values) if values else None

    def verdicts(self, figure: Figure) -> list[Verdict]:
        return [self.verdict(figure, target) for target in figure.targets]

    def verdict(self, figure: Figure, target: Target) -> Verdict:
        ours = self.median(OURS, figure)
        other = self.reference(figure, target.of) if target.of else 1.0
        if ours is None or other is None:
            return Verdict(target, None, None)
        enough = ours >= target.bound * other if figure.more_is_better else ours <= target.bound * other
        return Verdict(target, ours / other if other else None, enough)

    def reference(self, figure: Figure, name: str) -> float | None:
        if name != BEST_PEER:
            return self.median(name, figure)
        peers = [name for name in self.workload.contestants if SUBJECTS[name].role is Role.PEER]
        medians = [median for peer in peers if (median := self.median(peer, figure)) is not None]
        return (max if figure.more_is_better else min)(medians, default=None)

    def to_json(self) -> dict[str, Any]:
        return {
            "workload": self.workload.name,
            "title": self.workload.title,
            "missing": self.missing,
            "figures": [self.figure_to_json(figure) for figure in self.workload.figures],
        }

    def figure_to_json(self, figure: Figure) -> dict[str, Any]:
        return {
            "figure": figure.key,
            "title": figure.title,
            "unit": figure.unit,
            "more_is_better": figure.more_is_better,
            "contestants": {
                name: {"median": statistics.median(values), "low": min(values), "high": max(values), "rounds": values}
                for name in self.workload.contestants
                if (values := self.values(name, figure))
            },
            "targets": [
                {"bound": verdict.target.bound, "of": verdict.target.of, "ratio": verdict.ratio, "met": verdict.met}
                for verdict in self.verdicts(figure)
            ],
        }
