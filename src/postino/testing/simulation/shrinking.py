"""Makes a failing simulation smaller: leaves out part after part, as long as the rest fails in the same way."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Budget:
    """How often and how long a simulation may run again."""

    runs: int
    seconds: float
    began: float = field(default_factory=time.monotonic)

    def take(self) -> bool:
        """Return whether one more run is allowed, and count it."""
        if self.runs <= 0 or time.monotonic() - self.began > self.seconds:
            return False
        self.runs -= 1
        return True


def leave_out(parts: Sequence[T], still_fails: Callable[[Sequence[T]], bool], *, largest: int | None = None) -> list[T]:
    """Return the parts without those that the failure does not need: it leaves out half of them, then fewer at once."""
    kept, size = [*parts], largest or len(parts)
    while size > 0:
        position = 0
        while position < len(kept):
            rest = kept[:position] + kept[position + size :]
            if still_fails(rest):
                kept = rest
            else:
                position += size
        size //= 2
    return kept
