"""What the settings and the networks say about how much may run: caps, circuits, quotas."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from postino.config import Config
from postino.errors import ConfigError, WrongUse
from postino.rules.blackout import Blackout, blackout_of
from postino.rules.circuit_breaker import BreakerPolicy, policy_for
from postino.rules.quota import Quota

MOST_CAPPED = 1_000_000


@dataclass(frozen=True, slots=True)
class ChannelLimits:
    """By channel."""

    caps: Mapping[str, int] = field(default_factory=dict)
    circuits: Mapping[str, BreakerPolicy] = field(default_factory=dict)
    quotas: Mapping[str, Sequence[Quota]] = field(default_factory=dict)
    blackouts: Sequence[Blackout] = ()


def build_channel_limits(
    config: Config, networks: Iterable[str], quotas: Mapping[str, Sequence[Quota]]
) -> ChannelLimits:
    """Networks have a cap and a circuit; other channels where the settings say so."""
    caps = dict.fromkeys(networks, config.publishing.cap)
    named = {*caps, *(name for name, said in config.channels.items() if said.circuit is not None)}
    for name, said in config.channels.items():
        if said.cap is not None:
            caps[name] = check_cap(said.cap, f"channels.{name}.cap")
    circuits = {name: make_breaker_policy(config, name) for name in named}
    safe = {name: [widen_quota(quota, config.publishing.send_within) for quota in of] for name, of in quotas.items()}
    return ChannelLimits(caps, circuits, safe, parse_blackouts(config.queue.blackout_windows))


def widen_quota(quota: Quota, send_within: float) -> Quota:
    """A call leaves up to so many seconds after it was reserved: the network's own window may begin that much later."""
    return quota if quota.period is None else replace(quota, period=quota.period + timedelta(seconds=send_within))


def parse_blackouts(windows: Sequence[Any]) -> list[Blackout]:
    """Each under an id of its own words, so that every process gives it the same."""
    blackouts = []
    for number, told in enumerate(windows, 1):
        name = f"queue.blackout_windows, number {number}"
        if not isinstance(told, dict):
            raise ConfigError(f"{name}: expected a table, not {told!r:.200}.", field="queue.blackout_windows")
        try:
            blackout = blackout_of(told, uuid5(NAMESPACE_OID, json.dumps(told, sort_keys=True, default=str)))
        except WrongUse as error:
            raise ConfigError(f"{name}: {error}", field=error.field) from error
        blackouts.append(blackout)
    return blackouts


def check_cap(value: Any, name: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_CAPPED:
        return value
    raise ConfigError(f"{name} must be a whole number from 0 to {MOST_CAPPED:,}, not {value!r}.", field=name)


def make_breaker_policy(config: Config, service: str) -> BreakerPolicy:
    """What the channel says goes before what all circuits have in common."""
    names = [entry.name for entry in fields(config.circuits)]
    shared = {name: value for name in names if (value := getattr(config.circuits, name))}
    said = config.channels.get(service)
    own = dict(said.circuit or {}) if said is not None else {}
    try:
        return policy_for(service, shared | own)
    except WrongUse as error:
        raise ConfigError(f"circuits: {error}", field=error.field) from error
