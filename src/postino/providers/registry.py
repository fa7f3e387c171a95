"""Networks that do not come with Postino: the setting `networks.own` names them, and every process knows them.

Beside what a `Provider` has, such a network says `needed` (what an account's credentials need, each with a word for
who is asked for it) and `limits` (as in limits.toml); `home` and `quotas` (as in quotas.toml) if there are any.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

from postino.errors import ConfigError, WrongUse
from postino.import_object import attribute, imported, parted
from postino.providers import PROVIDERS
from postino.providers.limits import limits_of, load_limits
from postino.providers.quotas import load_quotas, quota_of
from postino.rules.limits import Limits
from postino.rules.quota import Quota
from postino.values.content import NETWORKS
from postino.values.provider import Promise, Provider

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)
VALUES = {"name": str, "promise": Promise, "timeout": timedelta, "visibility": timedelta, "needed": Mapping}
METHODS = ("publish", "refresh", "classify")


@dataclass(frozen=True, slots=True)
class Networks:
    """What a process knows of networks, by their names."""

    providers: Mapping[str, Provider] = field(default_factory=lambda: PROVIDERS)
    limits: Mapping[str, Limits] = field(default_factory=load_limits)
    quotas: Mapping[str, Sequence[Quota]] = field(default_factory=load_quotas)
    needed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # of own ones
    homes: Mapping[str, str] = field(default_factory=dict)  # likewise


def networks(own: Sequence[str], folder: Path) -> Networks:
    """Those that come with Postino and, by `module:attribute`, one's own: from the folder, or installed."""
    known = Networks()
    for target in own:
        known = _with(known, target, _found(target, folder))
    return known


def _found(target: str, folder: Path) -> Any:
    wrong = partial(_wrong, target)
    module_name, path = parted(target, "forum:Forum", wrong)
    found = attribute(imported(module_name, wrong, str(folder), first=False), path, wrong, "")
    if not isinstance(found, type):
        return found
    try:
        return found()
    except TypeError as error:
        raise wrong(f"it cannot be made without arguments ({error}). Name an object instead of its class.") from error


def _with(known: Networks, target: str, network: Any) -> Networks:
    _check(network, partial(_wrong, target))
    name = network.name
    if name in {**NETWORKS, **known.providers}:
        raise _wrong(target, f"the name {name!r} is taken. Give it another one.")
    try:
        limits = limits_of(name, **{"checked": date.min, "source": target, **network.limits})
        quotas = tuple(quota_of(**told) for told in getattr(network, "quotas", ()))
    except (TypeError, ValueError, KeyError, WrongUse) as error:
        raise _wrong(target, f"its limits or quotas cannot be read: {error}.") from error
    home = getattr(network, "home", None)
    return Networks(
        {**known.providers, name: cast(Provider, network)},
        {**known.limits, name: limits},
        {**known.quotas, **({name: quotas} if quotas else {})},
        {**known.needed, name: dict(network.needed)},
        {**known.homes, **({name: home} if home else {})},
    )


def _check(network: Any, wrong: partial[ConfigError]) -> None:
    for name, kind in {**VALUES, "limits": Mapping}.items():
        if not hasattr(network, name):
            raise wrong(f"it has no {name}.")
        if not isinstance(getattr(network, name), kind):
            raise wrong(f"its {name} must be a {kind.__name__}, not {getattr(network, name)!r}.")
    for name in METHODS:
        if not callable(getattr(network, name, None)):
            raise wrong(f"it has no method {name}.")
    if not NAME.fullmatch(network.name):
        raise wrong(f"its name must be of small letters, digits and _, at most 40, not {network.name!r}.")


def _wrong(target: str, said: str) -> ConfigError:
    return ConfigError(f"networks.own: {target}: {said}", field="networks.own")
