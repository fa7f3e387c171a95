"""Makes a failing simulation smaller: leaves out part after part, as long as the rest fails in the same way."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, Self, TypeVar

T = TypeVar("T")
Part = tuple[str, Any]  # what kind of part, and which one
ORDERS = 3  # other orders that are tried for each smaller simulation


class Script(Protocol):
    """What happens in a simulation. `order` chooses other draws for all that is not part of it."""

    @property
    def order(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def last_at(self) -> float: ...  # when the last act begins
    def list_parts(self) -> list[Part]: ...
    def keep(self, parts: Sequence[Part]) -> Self: ...
    def end_at(self, seconds: float) -> Self: ...
    def reorder(self, order: int) -> Self: ...
    def keep_hits(self, hits: Mapping[str, tuple[int, ...]]) -> Self: ...  # of faults


S = TypeVar("S", bound=Script)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class FoundFailure:
    """How a simulation failed, how many seconds after its beginning, and which faults had hit by then."""

    kind: str
    at: float
    hits: Mapping[str, tuple[int, ...]]  # of faults, by their numbers


@dataclass(slots=True)
class Budget:
    """How often a simulation may run again, and how many seconds of processor time that may take."""

    runs: int
    seconds: float
    began: float = field(default_factory=time.process_time)

    def take(self) -> bool:
        """Return whether one more run is allowed, and count it."""
        if self.runs <= 0 or time.process_time() - self.began > self.seconds:
            return False
        self.runs -= 1
        return True


class Shrinking(Generic[S, R]):
    """The smallest simulation so far that fails as the first one did. Raises LookupError if the first does not fail."""

    def __init__(
        self,
        script: S,
        run: Callable[[S], R],
        find_failure: Callable[[R], FoundFailure | None],
        budget: Budget,
    ) -> None:
        self.original = self.script = script
        self.run = run
        self.find_failure = find_failure
        self.budget = budget
        self.runs = 0
        self.result = run(script)
        failure = find_failure(self.result)
        if failure is None:
            raise LookupError("The simulation does not fail.")
        self.failure = failure

    def shrink(self) -> None:
        """Leave out what can be left out, until nothing more can be or the budget is spent."""
        self.shorten(self.accept)
        leave_out(self.script.list_parts(), lambda rest: self.accept(self.script.keep(rest)))
        self.script = self.script.keep_hits(self.failure.hits)
        leave_out(self.script.list_parts(), lambda rest: self.accept(self.script.keep(rest)))
        before: S | None = None
        while before != self.script and self.budget.runs > 0:
            before = self.script
            self.shorten(self.accept_any_order)
            leave_out(self.script.list_parts(), lambda rest: self.accept_any_order(self.script.keep(rest)), largest=1)

    def accept(self, script: S) -> bool:
        """Run a smaller simulation, and keep it if it fails in the same way."""
        if script == self.script or not self.budget.take():
            return False
        self.runs += 1
        result = self.run(script)
        failure = self.find_failure(result)
        if failure is None or failure.kind != self.failure.kind:
            return False
        self.script, self.result, self.failure = script, result, failure
        return True

    def accept_any_order(self, script: S) -> bool:
        return any(self.accept(script.reorder(script.order + more)) for more in range(ORDERS + 1))

    def shorten(self, accept: Callable[[S], bool]) -> None:
        """End the simulation at its failure, or a little after its last act."""
        for seconds in self.list_shorter():
            if seconds < self.script.seconds and accept(self.script.end_at(seconds)):
                return

    def list_shorter(self) -> Iterator[float]:
        ends = (self.script.last_at, self.failure.at)
        yield from sorted({round(end + more, 1) for end in ends for more in (0.1, 2.0)})
        yield round(self.script.seconds / 2, 1)


def leave_out(parts: Sequence[T], still_fails: Callable[[Sequence[T]], bool], *, largest: int | None = None) -> list[T]:
    """Return the parts that the failure needs: it leaves out all of them, then half of them, and so on."""
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


def choose_hits(hits: Mapping[str, tuple[int, ...]], kept: Collection[Part]) -> dict[str, tuple[int, ...]]:
    """Return the hits of faults that are among the kept parts of a script."""
    chosen = {
        name: tuple(it for it in numbers if ("hit", (name, it)) in kept)
        for name, numbers in hits.items()
        if ("fault", name) in kept
    }
    return {name: numbers for name, numbers in chosen.items() if numbers}
