"""The result of a chaos run of posts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Results:
    kills: int
    endings: dict[str, int]
    posts: int
    ends: dict[str, int]  # by the network's grade and the post's state
    asked: list[str]  # why a person must decide although the network has a lookup
    replayed: int  # by a person, because three workers had died under them
    acts: dict[str, int]  # of users and operators
    forgotten: int  # posts accepted after a backup that was put back
    unanswered: int  # calls while a frozen process held the database; they were repeated
    rescues: int
    checks: int
    longest_takeover: float  # seconds
    duplicates: list[str]
    lost: list[str]
    silent: list[str]
    wrong: list[str]
    evidence: list[str]
    seconds: float

    @property
    def violations(self) -> list[str]:
        return [*self.duplicates, *self.lost, *self.silent, *self.wrong]

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"asked": dict(Counter(self.asked))}


def rows(runs: Mapping[str, Results]) -> list[tuple[str, Sequence[float]]]:
    every = list(runs.values())
    ends = sorted({end for figures in every for end in figures.ends})
    excuses = sorted({excuse for figures in every for excuse in figures.asked})
    acts = sorted({act for figures in every for act in figures.acts})
    return [
        *((ending, [figures.endings[ending] for figures in every]) for ending in every[0].endings),
        ("posts accepted", [figures.posts for figures in every]),
        *((f"posts {end}", [figures.ends.get(end, 0) for figures in every]) for end in ends),
        *((f"  {excuse}", [figures.asked.count(excuse) for figures in every]) for excuse in excuses),
        ("rescues", [figures.rescues for figures in every]),
        ("replayed by a person", [figures.replayed for figures in every]),
        ("posts forgotten with a restore", [figures.forgotten for figures in every]),
        *((act, [figures.acts.get(act, 0) for figures in every]) for act in acts),
        ("calls without a response", [figures.unanswered for figures in every]),
        ("invariant checks", [figures.checks for figures in every]),
        ("longest takeover, seconds", [figures.longest_takeover for figures in every]),
        ("live twice", [len(figures.duplicates) for figures in every]),
        ("lost", [len(figures.lost) for figures in every]),
        ("silent", [len(figures.silent) for figures in every]),
        ("otherwise wrong", [len(figures.wrong) for figures in every]),
        ("seconds", [figures.seconds for figures in every]),
    ]
