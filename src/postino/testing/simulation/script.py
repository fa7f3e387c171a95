"""What happens when in a simulation: numbered acts, drawn before it begins, so that any of them can be left out.

Each act draws its own randomness from its number. So an act that is left out changes no draw of the others.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Act:
    """Something that a person or the platform does."""

    number: int
    at: float  # seconds after the beginning
    name: str


def draw_acts(chance: random.Random, weights: Mapping[str, float], pace: float, seconds: float) -> tuple[Act, ...]:
    """Draw the acts of some seconds. `pace` is the mean time between two of them."""
    names, acts, at = [*weights], list[Act](), chance.expovariate(1 / pace)
    while names and at < seconds:
        [name] = chance.choices(names, [*weights.values()])
        acts.append(Act(len(acts) + 1, round(at, 3), name))
        at += chance.expovariate(1 / pace)
    return tuple(acts)


async def perform_acts(
    acts: Sequence[Act], perform: Callable[[Act], Awaitable[None]], is_over: Callable[[], bool]
) -> None:
    """Perform each act at its time, or after the act before it if that takes longer."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    for act in acts:
        await asyncio.sleep(max(0.0, began + act.at - loop.time()))
        if is_over():
            return
        await perform(act)
