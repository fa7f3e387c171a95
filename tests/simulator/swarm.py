"""What happens in a life, drawn from its seed. Each life turns most faults off, so that others show themselves."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

STOPS = {"stop_at_call": 0.08, "stop_at_write": 0.002, "act_at_moment": 0.15}  # of workers, at crash points
# What people do at the very moment when a worker is about to write or to send.
MOMENTS = {"claim.after", "step.before", "record_intents.before", "send.after", "record_receipt.before",
           "set_account_state.before", "settle.before"}  # fmt: skip
SUDDEN_ACTS = ("pause", "pause", "pause_account", "edit", "cancel", "reschedule", "publish_scheduled_now",
               "reconnect_elsewhere", "reconnect")  # fmt: skip
STORE_FAULTS = {"store_before": 0.03, "store_after": 0.03}
HTTP_FAULTS = {"unreachable": 0.08, "half_sent": 0.03, "truncated": 0.04}
NETWORK_FAULTS = {
    "drop": 0.08, "process_then_drop": 0.12, "process_then_500": 0.06, "error_but_published": 0.05,
    "rate_limited": 0.12, "invisible": 0.15, "session_gone": 0.03, "slow": 0.08, "timeout": 0.05, "html": 0.05,
    "late_list": 0.2,
}  # fmt: skip
ACTS = {
    "publish": 5.0, "schedule": 4.0, "click_again": 1.5, "write_same": 0.7,
    "edit": 3.0, "reschedule": 1.5, "publish_scheduled_now": 1.0,
    "cancel": 1.5, "resolve": 4.0, "answer_wrongly": 0.2, "replay": 1.5, "pause": 1.0, "resume": 1.5,
    "add_blackout": 0.4, "remove_blackout": 0.6, "set_cap": 0.6, "pause_account": 0.4, "resume_account": 0.8,
    "open_circuit": 0.3, "close_circuit": 0.5, "explain": 1.0, "import_twice": 0.5, "reconnect": 0.4,
    "reconnect_expired": 0.8, "reconnect_elsewhere": 0.5, "move_brand": 0.3, "schedule_far": 0.2,
}  # fmt: skip
EVENTS = {
    "kill": 3.0, "freeze": 2.0, "restart": 0.5, "outage": 0.7, "skew_clock": 0.3, "back_up": 2.0, "put_back": 2.0,
    "block_account": 1.5, "unblock_account": 0.7, "expire_tokens": 1.0, "copy": 2.0, "fail_over": 1.0,
    "fill_disk": 0.4, "jump_clock": 0.3, "skew_network": 0.2, "start_with_other_settings": 0.4,
}  # fmt: skip
PROBABILITY = 0.6  # that a fault or an act takes part in a life
ALWAYS = {"publish", "schedule", "resolve", "resume", "remove_blackout", "resume_account", "close_circuit",
          "reconnect_expired", "unblock_account"}  # fmt: skip
RESTORES = ("put_back", "fail_over")  # after which much less is promised, so most lives have none


@dataclass(frozen=True, slots=True)
class Swarm:
    """The faults, acts and events of one life, with their rates."""

    seconds: float
    workers: int
    pace: float  # seconds between two acts of people
    calm: float  # seconds between two events of the platform
    rates: Mapping[str, float] = field(default_factory=dict)
    acts: Mapping[str, float] = field(default_factory=dict)
    events: Mapping[str, float] = field(default_factory=dict)
    has_quotas: bool = False
    is_lookalike: bool = False  # the server speaks Mastodon's API and ignores its idempotency key


def draw_swarm(seed: object) -> Swarm:
    chance = random.Random(f"{seed} swarm")

    def draw(all_rates: Mapping[str, float]) -> dict[str, float]:
        return {
            name: rate * chance.choice((0.5, 1, 2))
            for name, rate in all_rates.items()
            if name in ALWAYS or chance.random() < PROBABILITY
        }

    rates = draw(STOPS) | draw(STORE_FAULTS) | draw(HTTP_FAULTS) | draw(NETWORK_FAULTS)
    if chance.random() < 0.15:
        rates = {}
    events = draw(EVENTS)
    if chance.random() < 0.5:
        for name in RESTORES:
            events.pop(name, None)
    if "put_back" in events:
        events.setdefault("back_up", EVENTS["back_up"])
    return Swarm(
        seconds=chance.choice((10.0, 18.0, 30.0)),
        workers=chance.choice((1, 2, 2, 3)),
        pace=chance.choice((0.4, 0.8, 1.6)),
        calm=chance.choice((2.0, 4.0, 8.0)),
        rates=rates,
        acts=draw(ACTS),
        events=events,
        has_quotas=chance.random() < 0.5,
        is_lookalike=chance.random() < 0.4,
    )
