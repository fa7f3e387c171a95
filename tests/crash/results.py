"""The result of a chaos run: a few lines for people, JSON for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol


@dataclass(frozen=True, kw_only=True)
class Results:
    kills: int
    endings: dict[str, int]
    accepted: int
    states: dict[str, int]
    resolved: int  # by a person, because they were uncertain
    replayed: int  # by a person, because three workers had died under them
    unanswered: int  # calls while a frozen process held the database; their effect is unknown
    rescues: int
    checks: int
    longest_takeover: float  # seconds
    lost: list[str]
    again: list[str]
    wrong: list[str]
    evidence: list[str]
    seconds: float

    @property
    def violations(self) -> list[str]:
        return [*self.lost, *self.again, *self.wrong]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class ResultsLike(Protocol):
    """The results of any chaos run."""

    @property
    def kills(self) -> int: ...
    @property
    def violations(self) -> list[str]: ...
    @property
    def evidence(self) -> list[str]: ...
    def as_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True, kw_only=True)
class Part:
    """The results of a sweep and of a chaos run on each store."""

    name: str
    sweep: Mapping[str, int]
    chaos: Mapping[str, ResultsLike]
    rows: Sequence[tuple[str, Sequence[float]]]

    @property
    def kills(self) -> int:
        return self.sweep["kills"] + sum(figures.kills for figures in self.chaos.values())

    @property
    def violations(self) -> int:
        return sum(len(figures.violations) for figures in self.chaos.values())

    @property
    def failed(self) -> bool:
        return bool(self.violations or self.sweep["failed"] or self.sweep["skipped"])

    def as_json(self) -> dict[str, Any]:
        chaos = {store: figures.as_json() for store, figures in self.chaos.items()}
        return {"kills": self.kills, "sweep": dict(self.sweep), "chaos": chaos}


def report(seed: int, parts: Sequence[Part], seconds: float) -> list[str]:
    """Return the lines of the report, with the figures last."""
    lines: list[str] = []
    for part in parts:
        for store, figures in part.chaos.items():
            lines += [f"{part.name} on {store}: {violation}" for violation in figures.violations] + figures.evidence
    if any(part.failed for part in parts):
        lines += ["", f"To repeat this run: make crash SEED={seed}. Records and logs: build/crash/"]
    for part in parts:
        lines += ["", f"{part.name:36}" + "".join(f"{store:>12}" for store in part.chaos)]
        lines += [f"{name:36}" + "".join(f"{value:>12,}" for value in values) for name, values in part.rows]
        sweep = part.sweep
        lines += [f"sweep: {sweep['kills']:,} kills, {sweep['failed']} failed, {sweep['skipped']} skipped"]
    kills, violations = sum(part.kills for part in parts), sum(part.violations for part in parts)
    return [*lines, "", f"{kills:,} kills in {seconds:.0f} s, {violations} violations, seed {seed}"]


def rows(runs: Mapping[str, Results]) -> list[tuple[str, Sequence[float]]]:
    every = list(runs.values())
    states = ("completed", "failed", "cancelled")
    return [
        *((ending, [figures.endings[ending] for figures in every]) for ending in every[0].endings),
        ("jobs accepted", [figures.accepted for figures in every]),
        *((f"jobs {state}", [figures.states.get(state, 0) for figures in every]) for state in states),
        ("rescues", [figures.rescues for figures in every]),
        ("resolved by a person", [figures.resolved for figures in every]),
        ("replayed by a person", [figures.replayed for figures in every]),
        ("calls without a response", [figures.unanswered for figures in every]),
        ("invariant checks", [figures.checks for figures in every]),
        ("longest takeover, seconds", [figures.longest_takeover for figures in every]),
        ("lost", [len(figures.lost) for figures in every]),
        ("started after the end", [len(figures.again) for figures in every]),
        ("otherwise wrong", [len(figures.wrong) for figures in every]),
        ("seconds", [figures.seconds for figures in every]),
    ]
