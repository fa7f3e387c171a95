"""Measure whether work grows faster than its input. Times are CPU times of this thread, not of the machine."""

import time
from collections.abc import Callable, Iterable
from typing import Any

SLOW = 0.03  # seconds of CPU; only work that takes as long is measured more precisely
MAX_GROWTH = 8  # of the time, for four times the input: linear work grows by 4, quadratic work by 16
SMALL = (8, 12, 16, 20, 24, 28, 34, 40, 60, 90, 135, 200)  # in small steps: exponential work must end
LARGE = (1_000, 4_000, 16_000)
ROUNDS = 3


def find_superlinear(work: Callable[[str], Any], attacks: Iterable[Callable[[int], str]]) -> str | None:
    """Return the first attack, in words, for which the work grows faster than its input; None if there is none."""
    for attack in attacks:
        for size in (*SMALL, *LARGE):
            if measure(work, attack(size)) > SLOW:
                if (growth := compute_growth(work, attack, size)) > MAX_GROWTH:
                    return f"{attack(40)!r}… takes {growth:.0f} times as long at {size} as at {size // 4} characters"
                break
    return None


def compute_growth(work: Callable[[str], Any], attack: Callable[[int], str], size: int) -> float:
    """Return by what the time grows from a quarter of the size to the size."""
    large, small = attack(size), attack(size // 4)
    return min(measure(work, large) for _ in range(ROUNDS)) / min(measure(work, small) for _ in range(ROUNDS))


def measure(work: Callable[[str], Any], text: str) -> float:
    """Return the seconds of CPU that the work takes."""
    started_at = time.thread_time()
    work(text)
    return max(time.thread_time() - started_at, 1e-9)
