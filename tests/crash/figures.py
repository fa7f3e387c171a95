"""What a chaos run came to: for people as a few lines, for programs as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Figures:
    kills: int
    endings: dict[str, int]
    accepted: int
    states: dict[str, int]
    resolved: int  # by a person, because they were uncertain
    replayed: int  # by a person, because three workers had died under them
    unanswered: int  # calls that found the database held by a frozen process; nothing is known of them
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


def report(
    seed: int, sweep: Mapping[str, int], runs: Mapping[str, Figures], seconds: float
) -> tuple[list[str], bool]:
    """Lines for people, the figures last; and whether anything went wrong."""
    lines: list[str] = []
    for store, figures in runs.items():
        lines += [f"{store}: {violation}" for violation in figures.violations] + figures.evidence
    violations = sum(len(figures.violations) for figures in runs.values())
    failed = bool(violations or sweep["failed"] or sweep["skipped"])
    if failed:
        lines += ["", f"Again with the same jobs and fates: make crash SEED={seed}. Records and logs: build/crash/"]
    lines += ["", f"{'':28}" + "".join(f"{store:>12}" for store in runs)]
    lines += [f"{name:28}" + "".join(f"{value:>12,}" for value in values) for name, values in rows(runs)]
    kills = sweep["kills"] + sum(figures.kills for figures in runs.values())
    lines += [
        "",
        f"sweep: {sweep['kills']} kills, {sweep['failed']} failed, {sweep['skipped']} skipped",
        f"{kills:,} kills in {seconds:.0f} s, {violations} violations, seed {seed}",
    ]
    return lines, failed


def rows(runs: Mapping[str, Figures]) -> list[tuple[str, Sequence[float]]]:
    every = list(runs.values())
    states = ("completed", "failed", "cancelled")
    return [
        *((ending, [figures.endings[ending] for figures in every]) for ending in every[0].endings),
        ("jobs accepted", [figures.accepted for figures in every]),
        *((f"jobs {state}", [figures.states.get(state, 0) for figures in every]) for state in states),
        ("rescues", [figures.rescues for figures in every]),
        ("resolved by a person", [figures.resolved for figures in every]),
        ("replayed by a person", [figures.replayed for figures in every]),
        ("calls without an answer", [figures.unanswered for figures in every]),
        ("invariant checks", [figures.checks for figures in every]),
        ("longest takeover, seconds", [figures.longest_takeover for figures in every]),
        ("lost", [len(figures.lost) for figures in every]),
        ("started after the end", [len(figures.again) for figures in every]),
        ("otherwise wrong", [len(figures.wrong) for figures in every]),
        ("seconds", [figures.seconds for figures in every]),
    ]
