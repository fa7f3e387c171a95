"""How each worker ends, drawn by a seed: the same seed gives the same lives in the same order."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tests.crash.program import LEASE

SOON = 0.4  # seconds a worker lives, on average
UNBORN = 0.15  # how many are killed before they have begun
VETERANS = (2.5, 5.0)  # in leases: one place is held by workers old enough to notice the deaths of others
FREQUENT = ("poll.", "claim.", "handler.", "settle.")
RESCUING = ("rescue.", "mark_suspect.")
LEAVING = ("release.", "unregister_worker.")
MOST_PASSAGES = 12


class WorkerEnd(StrEnum):
    """What ends a worker, or interrupts it."""

    KILL = "kill -9"
    CRASH = "crash point"
    STOP = "SIGTERM"
    FREEZE = "SIGSTOP"


@dataclass(frozen=True, slots=True)
class WorkerLife:
    """What happens to a worker after so many seconds at work; a frozen one wakes up after `asleep`, and is killed."""

    ending: WorkerEnd
    after: float
    unborn: bool = False  # the seconds count from its very start
    crash: str = ""
    asleep: float = 0.0
    drain: float = 30.0
    listens: bool = False

    @property
    def stops(self) -> bool:
        """Whether it is told to stop, be it only to reach a point on the way out."""
        return self.ending is WorkerEnd.STOP or self.crash.startswith(LEAVING)


CHANCES = {WorkerEnd.KILL: 50, WorkerEnd.CRASH: 35, WorkerEnd.FREEZE: 8, WorkerEnd.STOP: 7}


def lives(seed: int, place: int, points: Sequence[str]) -> Iterator[WorkerLife]:
    """The fates of the workers that hold one place, one after the other; some die at one of these points."""
    chance = random.Random(f"{seed} worker {place}")
    while True:
        yield veteran(chance) if place == 0 else ordinary(chance, points)


def veteran(chance: random.Random) -> WorkerLife:
    return WorkerLife(WorkerEnd.KILL, LEASE * chance.uniform(*VETERANS))


def ordinary(chance: random.Random, points: Sequence[str]) -> WorkerLife:
    [ending] = chance.choices(list(CHANCES), list(CHANCES.values()))
    after = min(chance.expovariate(1 / SOON), 2 * LEASE)
    unborn = chance.random() < UNBORN
    listens = chance.random() < 0.2
    drain = chance.choice([0.0, 0.1, 5.0])
    match ending:
        case WorkerEnd.CRASH:
            return doomed(chance, points, after, listens)
        case WorkerEnd.FREEZE:
            return WorkerLife(ending, after, asleep=LEASE * chance.uniform(1.1, 2.2), listens=listens)
        case _:
            return WorkerLife(ending, after, unborn=unborn, drain=drain, listens=listens)


def doomed(chance: random.Random, points: Sequence[str], after: float, listens: bool) -> WorkerLife:
    """A worker with a crash point on its way; it is killed otherwise if it does not come there in time."""
    point = chance.choice(points)
    passages = MOST_PASSAGES if point.startswith(FREQUENT) else 1
    crash = f"{point}:{chance.randint(1, passages)}"
    if point.startswith(LEAVING):
        return WorkerLife(WorkerEnd.CRASH, after, crash=crash, drain=0.0)
    in_time = 2.5 * LEASE if point.startswith(RESCUING) else LEASE
    return WorkerLife(WorkerEnd.CRASH, in_time, crash=crash, listens=listens)
