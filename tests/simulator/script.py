"""A life as one value: what was drawn from its seed, or what is left of it. A script as JSON replays the same life."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any

from postino.testing.simulation.script import Act, draw_acts
from tests.simulator.swarm import Swarm, draw_swarm


@dataclass(frozen=True, slots=True)
class Script:
    """What people and the platform do in a life, and when. `order` chooses other draws for all the rest."""

    seed: str
    swarm: Swarm
    acts: tuple[Act, ...]
    events: tuple[Act, ...]
    accounts: tuple[str, ...] | None = None  # to which people publish; None: all
    order: int = 0

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
        accounts = value.get("accounts")
        return Script(
            seed=value["seed"],
            swarm=Swarm(**value["swarm"]),
            acts=tuple(Act(*it) for it in value["acts"]),
            events=tuple(Act(*it) for it in value["events"]),
            accounts=None if accounts is None else tuple(accounts),
            order=value["order"],
        )


def draw_script(seed: object, swarm: Swarm | None = None) -> Script:
    """Draw a life from its seed."""
    swarm = swarm or draw_swarm(seed)
    return Script(
        seed=str(seed),
        swarm=swarm,
        acts=draw_acts(random.Random(f"{seed} acts"), swarm.acts, swarm.pace, swarm.seconds),
        events=draw_acts(random.Random(f"{seed} events"), swarm.events, swarm.calm, swarm.seconds),
    )
