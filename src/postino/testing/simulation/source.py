"""Clocks and randomness of a simulation: virtual time, one seed, and a skew of each process's clock."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta

from postino.clock import Source
from postino.testing.simulation.loop import SimulationLoop, process_name

BEGIN = datetime(2030, 1, 1, 12, tzinfo=UTC)


class SimulatedSource(Source):
    """The clocks of all simulated processes. `skew` has the seconds by which the clock of a process is wrong."""

    def __init__(self, seed: object, loop: SimulationLoop) -> None:
        self.loop = loop
        self.chance = random.Random(f"{seed} randomness")
        self.skew: Counter[str] = Counter()
        self.last_tick = 0

    def now(self) -> datetime:
        return self.true_time() + timedelta(seconds=self.skew[process_name.get()])

    def true_time(self) -> datetime:
        return BEGIN + timedelta(seconds=self.loop.seconds)

    def monotonic(self) -> float:
        return self.loop.seconds

    def uptime(self) -> float:
        return self.loop.seconds

    def random_fraction(self) -> float:
        return self.chance.random()

    def random_bits(self, count: int) -> int:
        return self.chance.getrandbits(count)
