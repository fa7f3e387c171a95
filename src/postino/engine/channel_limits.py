"""Limits of channels from the settings and the networks: caps, circuit breakers, quotas, blackouts."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from postino.config import Config
from postino.errors import ConfigError, WrongUse
from postino.rules.blackout import Blackout, parse_blackout
from postino.rules.circuit_breaker import BreakerPolicy, parse_policy
from postino.rules.quota import Quota
from postino.values.service import get_network, is_origin_service

MAX_CAP = 1_000_000


@dataclass(frozen=True, slots=True)
class ChannelLimits:
    """The limits of all channels; caps, circuits and quotas are by channel. The channels of `networks` are reserved."""

    caps: Mapping[str, int] = field(default_factory=dict)
    circuits: Mapping[str, BreakerPolicy] = field(default_factory=dict)
    quotas: Mapping[str, Sequence[Quota]] = field(default_factory=dict)
    blackouts: Sequence[Blackout] = ()
    networks: frozenset[str] = frozenset()


def build_channel_limits(
    config: Config, networks: Iterable[str], quotas: Mapping[str, Sequence[Quota]]
) -> ChannelLimits:
    """Collect the limits. Every network has a cap and a circuit; other channels have them if the settings say so.

    Raises ConfigError if a setting is wrong.
    """
    reserved = frozenset(networks)
    caps = dict.fromkeys(sorted(reserved), config.publishing.cap)
    guarded = {*caps, *(name for name, channel in config.channels.items() if channel.circuit is not None)}
    for name, channel in config.channels.items():
        if channel.cap is not None:
            caps[name] = check_cap(channel.cap, f"channels.{name}.cap")
    for name in guarded:
        if is_origin_service(name):
            message = f"channels.{name}.circuit: the name of a channel with a circuit must not contain @."
            raise ConfigError(message, field=f"channels.{name}.circuit")
    circuits = {name: make_breaker_policy(config, name) for name in guarded}
    send_within = config.publishing.send_within
    wide_quotas = {name: [widen_quota(quota, send_within) for quota in some] for name, some in quotas.items()}
    return ChannelLimits(caps, circuits, wide_quotas, parse_blackouts(config.queue.blackout_windows), reserved)


def widen_quota(quota: Quota, send_within: float) -> Quota:
    """Lengthen a quota's period by the time between reserving a call and sending it, when the network counts it."""
    return quota if quota.period is None else replace(quota, period=quota.period + timedelta(seconds=send_within))


def parse_blackouts(windows: Sequence[Any]) -> list[Blackout]:
    """Parse the blackouts of the settings. Their ids are derived from their text, so all processes agree on them."""
    blackouts = []
    for number, window in enumerate(windows, 1):
        name = f"queue.blackout_windows, number {number}"
        if not isinstance(window, dict):
            raise ConfigError(f"{name}: expected a table, not {window!r:.200}.", field="queue.blackout_windows")
        try:
            blackout = parse_blackout(window, uuid5(NAMESPACE_OID, json.dumps(window, sort_keys=True, default=str)))
        except WrongUse as error:
            raise ConfigError(f"{name}: {error}", field=error.field) from error
        blackouts.append(blackout)
    return blackouts


def check_cap(value: Any, name: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_CAP:
        return value
    raise ConfigError(f"{name} must be a whole number from 0 to {MAX_CAP:,}, not {value!r}.", field=name)


def make_breaker_policy(config: Config, service: str) -> BreakerPolicy:
    """Return the policy of a service's circuit: the channel's own settings override the common ones."""
    names = [entry.name for entry in fields(config.circuits)]
    common = {name: value for name in names if (value := getattr(config.circuits, name))}
    channel = config.channels.get(get_network(service))
    overrides = dict(channel.circuit or {}) if channel is not None else {}
    try:
        return parse_policy(service, common | overrides)

    except WrongUse as error:
        raise ConfigError(f"circuits: {error}", field=error.field) from error
