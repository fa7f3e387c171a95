"""A life as one value: what was drawn from its seed, or what is left of it. A script as JSON replays the same life."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from typing import Any

from postino.testing.simulation.script import Act, draw_acts
from postino.testing.simulation.shrinking import Part, choose_hits
from tests.simulator.swarm import Swarm, draw_swarm

PARTS_OF_SWARM = ("seconds", "workers", "pace", "calm", "rates", "acts", "events")  # `keep` and `end_at` know them


@dataclass(frozen=True, slots=True)
class Script:
    """What people and the platform do in a life, and when. `order` chooses other draws for all the rest."""

    seed: str
    swarm: Swarm
    acts: tuple[Act, ...]
    events: tuple[Act, ...]
    accounts: tuple[str, ...] | None = None  # to which people publish; None: all
    order: int = 0
    hits: Mapping[str, tuple[int, ...]] | None = None  # of faults: those that happen, by their numbers; None: all

    @property
    def seconds(self) -> float:
        return self.swarm.seconds

    @property
    def last_at(self) -> float:
        return max((it.at for it in (*self.acts, *self.events)), default=0.0)

    def list_parts(self) -> list[Part]:
        """Return what can be left out of the life."""
        return [
            *(("fault", it) for it in self.swarm.rates),
            *(("event", it) for it in self.events),
            *(("act", it) for it in self.acts),
            *(("hit", (name, it)) for name, numbers in (self.hits or {}).items() for it in numbers),
            *(("account", it) for it in self.accounts or ()),
            *(("worker", it) for it in range(1, self.swarm.workers)),
            *(("trait", it) for it in list_traits(self.swarm)),
        ]

    def keep(self, parts: Sequence[Part]) -> Script:
        """Return the script with these parts only."""
        kept, swarm = set(parts), self.swarm
        normal = {it.name: it.default for it in fields(swarm)}
        changes: dict[str, Any] = {name: normal[name] for name in list_traits(swarm) if ("trait", name) not in kept}
        changes["workers"] = 1 + sum(kind == "worker" for kind, _ in kept)
        changes["rates"] = {name: rate for name, rate in swarm.rates.items() if ("fault", name) in kept}
        return replace(
            self,
            swarm=replace(swarm, **changes),
            acts=tuple(it for it in self.acts if ("act", it) in kept),
            events=tuple(it for it in self.events if ("event", it) in kept),
            hits=None if self.hits is None else choose_hits(self.hits, kept),
            accounts=self.accounts and tuple(it for it in self.accounts if ("account", it) in kept),
        )

    def end_at(self, seconds: float) -> Script:
        return replace(
            self,
            swarm=replace(self.swarm, seconds=seconds),
            acts=tuple(it for it in self.acts if it.at < seconds),
            events=tuple(it for it in self.events if it.at < seconds),
        )

    def reorder(self, order: int) -> Script:
        return replace(self, order=order)

    def keep_hits(self, hits: Mapping[str, tuple[int, ...]]) -> Script:
        return replace(self, hits={name: numbers for name, numbers in hits.items() if numbers})

    def to_json(self, notes: Mapping[str, str]) -> str:
        """Return the script as JSON, with notes for readers."""
        value = {**notes, **{name: it for name, it in asdict(self).items() if it is not None}}
        defaults = {it.name: it.default for it in fields(Swarm) if it.default is not MISSING}
        value["swarm"] = {
            name: it
            for name, it in value["swarm"].items()
            if it != {} and (name not in defaults or it != defaults[name])
        }
        for kind in ("acts", "events"):
            value[kind] = [[it.number, it.at, it.name] for it in getattr(self, kind)]
        return "{\n" + ",\n".join(f" {json.dumps(name)}: {json.dumps(it)}" for name, it in value.items()) + "\n}\n"

    @staticmethod
    def from_json(text: str) -> Script:
        value: dict[str, Any] = json.loads(text)
        accounts, hits = value.get("accounts"), value.get("hits")
        return Script(
            seed=value["seed"],
            swarm=Swarm(**value["swarm"]),
            acts=tuple(Act(*it) for it in value["acts"]),
            events=tuple(Act(*it) for it in value["events"]),
            accounts=None if accounts is None else tuple(accounts),
            order=value["order"],
            hits=None if hits is None else {name: tuple(numbers) for name, numbers in hits.items()},
        )


def list_traits(swarm: Swarm) -> list[str]:
    """Return what else is special about a life: what has a default, and is not the default."""
    own = [it for it in fields(swarm) if it.name not in PARTS_OF_SWARM and it.default is not MISSING]
    return [it.name for it in own if getattr(swarm, it.name) != it.default]


def draw_script(seed: object, swarm: Swarm | None = None) -> Script:
    """Draw a life from its seed."""
    swarm = swarm or draw_swarm(seed)
    return Script(
        seed=str(seed),
        swarm=swarm,
        acts=draw_acts(random.Random(f"{seed} acts"), swarm.acts, swarm.pace, swarm.seconds),
        events=draw_acts(random.Random(f"{seed} events"), swarm.events, swarm.calm, swarm.seconds),
    )
