"""Which acts take part in a life, how often, and what goes wrong, drawn from its seed."""

import random
from dataclasses import dataclass

RARE = {
    "edit": 2.0, "reschedule": 2.0, "cancel": 1.5, "resolve": 1.5, "replay": 1.0, "discard": 0.2, "pause": 1.5,
    "blackout": 0.7, "set_cap": 0.7, "cool_down": 0.5, "end_cooldown": 0.5, "fail_call": 1.0, "open_circuit": 0.3,
    "close_circuit": 0.5, "write_settings": 0.4, "prune": 0.2, "take_duty": 0.3, "reserve_quota": 0.7,
    "release_quota": 0.3, "beat": 0.3, "restart": 0.5, "relay": 0.7, "hint_unreachable": 0.2, "poll": 1.0,
}  # fmt: skip
ALWAYS = {
    "enqueue": 6.0, "claim": 14.0, "settle": 8.0, "intend": 4.0, "receive": 4.0, "rescue": 1.5, "read_events": 2.0,
    "resume": 3.0, "lift_blackout": 2.0,
}  # fmt: skip
# Lives with few kinds of acts, which meet each other often.
THEMES = {
    "bulk": {"enqueue": 4.0, "poll": 5.0, "claim": 6.0, "settle": 4.0, "set_cap": 6.0, "pause": 2.0, "resume": 5.0},
    "gates": {
        "enqueue": 4.0, "claim": 7.0, "settle": 5.0, "pause": 3.0, "resume": 7.0, "blackout": 2.0, "lift_blackout": 4.0,
    },
    "sends": {
        "enqueue": 3.0, "claim": 5.0, "intend": 7.0, "receive": 6.0, "settle": 3.0, "rescue": 4.0, "cancel": 2.0,
        "edit": 1.0, "pause": 1.0, "resume": 2.0, "resolve": 2.0,
    },
    "quotas": {"enqueue": 4.0, "claim": 5.0, "reserve_quota": 8.0, "release_quota": 1.0, "settle": 3.0, "rescue": 1.0},
    "events": {
        "enqueue": 2.0, "claim": 4.0, "settle": 3.0, "edit": 3.0, "reschedule": 3.0, "read_events": 6.0, "relay": 3.0,
        "pause": 1.0, "resume": 2.0,
    },
}  # fmt: skip
PROBABILITY = 0.5  # that a rare act takes part in a life


@dataclass(frozen=True, slots=True)
class Swarm:
    """Which acts take part in one life, how often, and what goes wrong."""

    acts: dict[str, float]
    bursts: int
    kills: float  # at each step
    lost_answers: float
    pace: float  # how often time passes at a step
    bulk: float  # the share of jobs without a lane
    reads: int  # how often the reader of events reads, one read after the other


def draw_swarm(seed: str) -> Swarm:
    chance = random.Random(f"{seed} swarm")
    theme = chance.choice((None, None, None, *THEMES))
    rare = {name: rate * chance.choice((1, 3)) for name, rate in RARE.items() if chance.random() < PROBABILITY}
    return Swarm(
        acts=THEMES[theme] if theme else ALWAYS | rare,
        bursts=chance.choice((8, 12, 16)),
        kills=chance.choice((0.0, 0.0, 0.01, 0.03)),
        lost_answers=chance.choice((0.0, 0.05, 0.1)),
        pace=chance.choice((0.0, 0.02, 0.1)),
        bulk=1.0 if theme == "bulk" else chance.choice((0.0, 0.1, 0.1)),
        reads=6 if theme == "events" else 1,
    )
