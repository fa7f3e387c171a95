"""The rates of faults, which number each hit, so that a single hit can be left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any


class NumberedRates(dict[str, float]):
    """The probability of each fault. A draw below it is a hit; `kept` has the hits that may happen, None: all."""

    def __init__(self, rates: Mapping[str, float], kept: Mapping[str, Collection[int]] | None = None) -> None:
        super().__init__(rates)
        self.kept = kept
        self.counts: Counter[str] = Counter()

    def get(self, name: str, default: Any = None) -> Any:
        return _Rate(self, name) if name in self else default

    def is_hit(self, name: str, draw: float) -> bool:
        if draw >= self[name]:
            return False
        self.counts[name] += 1
        return self.kept is None or self.counts[name] in self.kept.get(name, ())

    def list_hits(self) -> dict[str, tuple[int, ...]]:
        """Return the numbers of the hits that have happened."""
        numbers = {name: range(1, count + 1) for name, count in self.counts.items()}
        return {
            name: tuple(it for it in own if self.kept is None or it in self.kept.get(name, ()))
            for name, own in numbers.items()
        }


class _Rate(float):
    """A probability that notes whether the draw that is compared with it is a hit: `chance.random() < rate`."""

    rates: NumberedRates
    name: str

    def __new__(cls, rates: NumberedRates, name: str) -> _Rate:
        rate = super().__new__(cls, rates[name])
        rate.rates, rate.name = rates, name
        return rate

    def __gt__(self, draw: float) -> bool:
        return self.rates.is_hit(self.name, draw)
