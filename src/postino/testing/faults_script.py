"""What happens in a run with faults, drawn from its seed. Each run turns some faults off, so that others show."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from postino.testing.simulation.script import Act, draw_acts
from postino.testing.simulation.shrinking import Part, choose_hits

# How often a call of the network or a transaction fails.
RATES = {
    "unreachable": 0.08, "half_sent": 0.05, "drop": 0.08, "process_then_drop": 0.15, "process_then_500": 0.1,
    "truncated": 0.08, "rate_limited": 0.08, "slow": 0.08, "timeout": 0.05, "html": 0.06,
    "store_before": 0.03, "store_after": 0.03, "crash": 0.05,
}  # fmt: skip
# How often the processes fail, in proportion to each other.
EVENTS = {"kill": 4.0, "freeze": 3.0, "restart": 1.0, "outage": 1.0}
FAULTS = (*RATES, *EVENTS)
PACE, CALM = 1.0, 5.0  # seconds between two acts, and between two events
PROBABILITY = 0.6  # that a fault takes part in a run


@dataclass(frozen=True, slots=True)
class FaultScript:
    """What people and the platform do in a run, and when. `order` chooses other draws for all the rest."""

    seed: str
    seconds: float
    workers: int
    rates: Mapping[str, float] = field(default_factory=dict)
    acts: tuple[Act, ...] = ()
    events: tuple[Act, ...] = ()
    order: int = 0
    hits: Mapping[str, tuple[int, ...]] | None = None  # of faults: those that happen, by their numbers; None: all

    @property
    def last_at(self) -> float:
        return max((it.at for it in (*self.acts, *self.events)), default=0.0)

    def list_parts(self) -> list[Part]:
        """Return what can be left out of the run."""
        return [
            *(("fault", it) for it in self.rates),
            *(("event", it) for it in self.events),
            *(("act", it) for it in self.acts),
            *(("hit", (name, it)) for name, numbers in (self.hits or {}).items() for it in numbers),
            *(("worker", it) for it in range(1, self.workers)),
        ]

    def keep(self, parts: Sequence[Part]) -> FaultScript:
        kept: set[Any] = set(parts)
        return replace(
            self,
            workers=1 + sum(kind == "worker" for kind, _ in kept),
            rates={name: rate for name, rate in self.rates.items() if ("fault", name) in kept},
            acts=tuple(it for it in self.acts if ("act", it) in kept),
            events=tuple(it for it in self.events if ("event", it) in kept),
            hits=None if self.hits is None else choose_hits(self.hits, kept),
        )

    def end_at(self, seconds: float) -> FaultScript:
        return replace(
            self,
            seconds=seconds,
            acts=tuple(it for it in self.acts if it.at < seconds),
            events=tuple(it for it in self.events if it.at < seconds),
        )

    def reorder(self, order: int) -> FaultScript:
        return replace(self, order=order)

    def keep_hits(self, hits: Mapping[str, tuple[int, ...]]) -> FaultScript:
        return replace(self, hits={name: numbers for name, numbers in hits.items() if numbers})


def draw_script(seed: object, faults: Collection[str], acts: Mapping[str, float]) -> FaultScript:
    """Draw a run from its seed, with these faults at most."""
    chance = random.Random(f"{seed} script")
    taking_part = {name for name in FAULTS if chance.random() < PROBABILITY and name in faults}
    rates = {name: rate * chance.choice((0.5, 1, 2)) for name, rate in RATES.items()}
    events = {name: weight for name, weight in EVENTS.items() if name in taking_part}
    seconds = chance.choice((10.0, 20.0))
    return FaultScript(
        seed=str(seed),
        seconds=seconds,
        workers=chance.choice((1, 2, 3)),
        rates={name: rate for name, rate in rates.items() if name in taking_part},
        acts=draw_acts(random.Random(f"{seed} acts"), acts, PACE, seconds),
        events=draw_acts(random.Random(f"{seed} events"), events, CALM, seconds),
    )
