"""How each worker ends, at random: the same seed gives the same lives in the same order."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tests.crash.program import LEASE

SOON = 0.4  # seconds a worker lives, on average
KILLED_BEFORE_START = 0.15  # share of workers that are killed before they have started
VETERANS = (1.5, 4.0)  # in leases: the workers of one place live on after they have taken over what was dead
FREQUENT = ("poll.", "claim.", "handler.", "settle.")
RESCUING = ("rescue.", "mark_suspect.")
LEAVING = ("release.", "unregister_worker.")
MOST_PASSAGES = 12


class WorkerEnd(StrEnum):
    """How a worker is ended or interrupted."""

    KILL = "kill -9"
    CRASH = "crash point"
    STOP = "SIGTERM"
    FREEZE = "SIGSTOP"


@dataclass(frozen=True, slots=True)
class WorkerLife:
    """What happens to a worker after some seconds; a frozen one wakes up after `asleep` seconds, and is killed."""

    ending: WorkerEnd
    after: float
    before_start: bool = False  # the seconds count from the start of the process
    crash: str = ""
    asleep: float = 0.0
    drain: float = 30.0
    listens: bool = False
    rescues: bool = False  # it lives until the claims that were dead when it started are taken over

    @property
    def stops(self) -> bool:
        """Return whether the worker gets SIGTERM, also to reach a crash point of the shutdown."""
        return self.ending is WorkerEnd.STOP or self.crash.startswith(LEAVING)


CHANCES = {WorkerEnd.KILL: 50, WorkerEnd.CRASH: 35, WorkerEnd.FREEZE: 8, WorkerEnd.STOP: 7}


def draw_lives(seed: int, place: int, points: Sequence[str]) -> Iterator[WorkerLife]:
    """Yield the lives of the workers of one place; some die at one of these crash points."""
    chance = random.Random(f"{seed} worker {place}")
    while True:
        yield draw_long_life(chance) if place == 0 else draw_short_life(chance, points)


def draw_long_life(chance: random.Random) -> WorkerLife:
    return WorkerLife(WorkerEnd.KILL, LEASE * chance.uniform(*VETERANS), rescues=True)


def draw_short_life(chance: random.Random, points: Sequence[str]) -> WorkerLife:
    [ending] = chance.choices(list(CHANCES), list(CHANCES.values()))
    after = min(chance.expovariate(1 / SOON), 2 * LEASE)
    before_start = chance.random() < KILLED_BEFORE_START
    listens = chance.random() < 0.2
    drain = chance.choice([0.0, 0.1, 5.0])
    match ending:
        case WorkerEnd.CRASH:
            return draw_crash(chance, points, after, listens)
        case WorkerEnd.FREEZE:
            return WorkerLife(ending, after, asleep=LEASE * chance.uniform(1.1, 2.2), listens=listens)
        case _:
            return WorkerLife(ending, after, before_start=before_start, drain=drain, listens=listens)


def draw_crash(chance: random.Random, points: Sequence[str], after: float, listens: bool) -> WorkerLife:
    """Return a life that ends at a crash point, or by a kill if the point is not reached in time."""
    point = chance.choice(points)
    passages = MOST_PASSAGES if point.startswith(FREQUENT) else 1
    crash = f"{point}:{chance.randint(1, passages)}"
    if point.startswith(LEAVING):
        return WorkerLife(WorkerEnd.CRASH, after, crash=crash, drain=0.0)
    in_time = 2.5 * LEASE if point.startswith(RESCUING) else LEASE
    return WorkerLife(WorkerEnd.CRASH, in_time, crash=crash, listens=listens)
