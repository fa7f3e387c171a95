"""Shrinks a failing life: leaves out acts, events, faults, accounts and time, as long as it fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any

from postino.testing.simulation.loop import START
from postino.testing.simulation.shrinking import Budget, leave_out
from postino.testing.simulation.source import BEGIN
from tests.simulator.life import Life, run_script
from tests.simulator.script import Script
from tests.simulator.swarm import Swarm

Part = tuple[str, object]
ORDERS = 3  # other orders that are tried for each smaller life
OWN = ("seconds", "workers", "pace", "calm", "rates", "acts", "events")  # what a swarm has of its own parts


@dataclass(slots=True)
class Shrinking:
    """The smallest life so far that fails as the first one did."""

    script: Script
    budget: Budget
    run: Callable[[Script], Life] = run_script
    runs: int = 0
    original: Script = field(init=False)
    life: Life = field(init=False)
    kind: str = field(init=False)

    def __post_init__(self) -> None:
        self.original, self.life = self.script, self.run(self.script)
        if not self.life.failures:
            raise LookupError(f"The life {self.script.seed} does not fail.")
        self.kind = find_kind(self.life)
        self.script = replace(self.script, accounts=self.script.accounts or tuple(self.life.accounts))

    def accept(self, script: Script) -> bool:
        """Run a smaller life, and keep it if it fails in the same way."""
        if script == self.script or not self.budget.take():
            return False
        life = self.run(script)
        self.runs += 1
        if not life.failures or find_kind(life) != self.kind:
            return False
        self.script, self.life = script, life
        return True

    def accept_any_order(self, script: Script) -> bool:
        orders = range(self.script.order, self.script.order + ORDERS + 1)
        return any(self.accept(replace(script, order=order)) for order in orders)


def find_kind(life: Life) -> str:
    return life.failures[0].partition(":")[0]


def shrink(script: Script, *, runs: int = 600, seconds: float = 120.0) -> Shrinking:
    """Return the smallest failing life that was found. Raises LookupError if the life does not fail."""
    shrinking = Shrinking(strip(script), Budget(runs, seconds))
    shorten(shrinking, shrinking.accept)
    leave_out(list_parts(shrinking.script), lambda rest: shrinking.accept(keep(shrinking.script, rest)))
    before = None
    while before != shrinking.script and shrinking.budget.runs > 0:
        before = shrinking.script
        shorten(shrinking, shrinking.accept_any_order)
        leave_out(
            list_parts(shrinking.script),
            lambda rest: shrinking.accept_any_order(keep(shrinking.script, rest)),
            largest=1,
        )
    return shrinking


def strip(script: Script) -> Script:
    """Return the script without the rates from which its acts were drawn."""
    return replace(script, swarm=replace(script.swarm, acts={}, events={}))


def shorten(shrinking: Shrinking, accept: Callable[[Script], bool]) -> None:
    """End the life at its failure, or a little after its last act."""
    for seconds in list_shorter(shrinking):
        if seconds < shrinking.script.swarm.seconds and accept(end_at(shrinking.script, seconds)):
            return


def list_shorter(shrinking: Shrinking) -> Iterator[float]:
    script = shrinking.script
    last = max((it.at for it in (*script.acts, *script.events)), default=0.0)
    broken_at = next(at for at, sentence in shrinking.life.story if sentence.startswith("BROKEN"))
    broken = (broken_at - BEGIN).total_seconds() - START
    yield from sorted({round(it + more, 1) for it in (last, broken) for more in (0.1, 2.0)})
    yield round(script.swarm.seconds / 2, 1)


def end_at(script: Script, seconds: float) -> Script:
    return replace(
        script,
        swarm=replace(script.swarm, seconds=seconds),
        acts=tuple(it for it in script.acts if it.at < seconds),
        events=tuple(it for it in script.events if it.at < seconds),
    )


def list_parts(script: Script) -> list[Part]:
    """Return what can be left out of a life."""
    return [
        *(("event", it) for it in script.events),
        *(("act", it) for it in script.acts),
        *(("fault", it) for it in script.swarm.rates),
        *(("account", it) for it in script.accounts or ()),
        *(("worker", it) for it in range(1, script.swarm.workers)),
        *(("trait", it) for it in list_traits(script.swarm)),
    ]


def list_traits(swarm: Swarm) -> list[str]:
    """Return what else is special about a life: what has a default, and is not the default."""
    own = [it for it in fields(swarm) if it.name not in OWN and it.default is not MISSING]
    return [it.name for it in own if getattr(swarm, it.name) != it.default]


def keep(script: Script, parts: Sequence[Part]) -> Script:
    """Return the script with these parts only."""
    kept: Collection[Part] = set(parts)
    swarm = script.swarm
    normal = {it.name: it.default for it in fields(swarm)}
    changes: dict[str, Any] = {name: normal[name] for name in list_traits(swarm) if ("trait", name) not in kept}
    return replace(
        script,
        swarm=replace(
            swarm,
            workers=1 + sum(name == "worker" for name, _ in kept),
            rates={name: rate for name, rate in swarm.rates.items() if ("fault", name) in kept},
            **changes,
        ),
        acts=tuple(it for it in script.acts if ("act", it) in kept),
        events=tuple(it for it in script.events if ("event", it) in kept),
        accounts=None if script.accounts is None else tuple(it for it in script.accounts if ("account", it) in kept),
    )
