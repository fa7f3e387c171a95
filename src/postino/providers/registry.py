"""Find the networks Postino publishes to: the built-in ones in this package, and plug-ins that the settings name.

Both declare the same. A built-in network is a module in `postino.providers` with a `NETWORK`; a plug-in is the object
or class that `module:attribute` names in the setting `networks.plugins`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import postino.providers
from postino.errors import ConfigError, WrongUse
from postino.import_object import get_attribute, import_target, split_target
from postino.providers.declaration import parse_limits, parse_quotas
from postino.providers.planned_quotas import PLANNED_QUOTAS
from postino.rules.content_limits import NetworkLimits
from postino.rules.quota import Quota
from postino.values.networks import PLANNED_NETWORKS
from postino.values.provider import Credential, Promise, Provider

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)
REQUIRED = {
    "name": str,
    "promise": Promise,
    "timeout": timedelta,
    "listing_delay": timedelta,
    "credentials": Mapping,
    "limits": Mapping,
}
METHODS = ("publish", "refresh", "classify")
# What a plug-in need not know about its limits and quotas. Built-in networks state both.
UNDATED = {"checked": date.min, "source": "its own declaration"}


@dataclass(frozen=True, slots=True)
class NetworkRegistry:
    """All networks of a process, by name. `titles` and `quotas` contain planned networks too."""

    providers: Mapping[str, Provider] = field(default_factory=dict)
    limits: Mapping[str, NetworkLimits] = field(default_factory=dict)
    credentials: Mapping[str, Mapping[str, Credential]] = field(default_factory=dict)
    default_base_urls: Mapping[str, str] = field(default_factory=dict)
    quotas: Mapping[str, Sequence[Quota]] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)


@cache
def load_built_in() -> NetworkRegistry:
    """Return the networks that come with Postino."""
    package = postino.providers
    modules = [import_module(f"{package.__name__}.{entry.name}") for entry in iter_modules(package.__path__)]
    planned_quotas = {name: parse_quotas(quotas) for name, quotas in PLANNED_QUOTAS.items()}
    registry = NetworkRegistry(quotas=planned_quotas, titles=PLANNED_NETWORKS)
    for module in modules:
        if (network := getattr(module, "NETWORK", None)) is not None:
            registry = _add(registry, network)
    return registry


def load_registry(plugins: Sequence[str], folder: Path) -> NetworkRegistry:
    """Return the built-in networks and the plug-ins, each `module:attribute`, found in the folder or installed.

    Raises ConfigError if a plug-in cannot be imported or its declaration is wrong.
    """
    registry = load_built_in()
    for target in plugins:
        registry = add_plugin(registry, _import_plugin(target, folder), target)
    return registry


def add_plugin(registry: NetworkRegistry, network: Any, target: str) -> NetworkRegistry:
    """Return the registry with one more network. Raises ConfigError, with its target, if its declaration is wrong."""
    _check(network, partial(_plugin_error, target))
    if network.name in registry.titles:
        raise _plugin_error(target, f"the name {network.name!r} is taken. Give it another one.")
    try:
        return _add(registry, network, UNDATED)
    except (TypeError, ValueError, KeyError, WrongUse) as error:
        raise _plugin_error(target, f"its limits or quotas cannot be read: {error}.") from error


def _add(registry: NetworkRegistry, network: Any, defaults: Mapping[str, Any] | None = None) -> NetworkRegistry:
    name, title = network.name, getattr(network, "title", network.name)
    unknown = defaults or {}
    quotas = parse_quotas({**unknown, **quota} for quota in getattr(network, "quotas", ()))
    base_url = getattr(network, "default_base_url", None)
    return NetworkRegistry(
        providers={**registry.providers, name: network},
        limits={**registry.limits, name: parse_limits(name, title, **{**unknown, **network.limits})},
        credentials={**registry.credentials, name: dict(network.credentials)},
        default_base_urls={**registry.default_base_urls, **({name: base_url} if base_url else {})},
        quotas={**registry.quotas, **({name: quotas} if quotas else {})},
        titles={**registry.titles, name: title},
    )


def _import_plugin(target: str, folder: Path) -> Any:
    error = partial(_plugin_error, target)
    module_name, path = split_target(target, "forum:Forum", error)
    plugin = get_attribute(import_target(module_name, error, str(folder), first=False), path, error, "")
    if not isinstance(plugin, type):
        return plugin
    try:
        return plugin()
    except TypeError as cause:
        raise error(f"it cannot be made without arguments ({cause}). Name an object instead of its class.") from cause


def _check(network: Any, error: partial[ConfigError]) -> None:
    for name, kind in REQUIRED.items():
        if not hasattr(network, name):
            raise error(f"it has no {name}.")
        if not isinstance(getattr(network, name), kind):
            raise error(f"its {name} must be a {kind.__name__}, not {getattr(network, name)!r}.")
    for name, credential in network.credentials.items():
        if not isinstance(credential, Credential):
            raise error(f"its credentials must be Credential values; {name} is {credential!r}.")
    for name in METHODS:
        if not callable(getattr(network, name, None)):
            raise error(f"it has no method {name}.")
    if not NAME.fullmatch(network.name):
        raise error(f"its name must be small letters, digits and _, at most 40, not {network.name!r}.")


def _plugin_error(target: str, message: str) -> ConfigError:
    return ConfigError(f"networks.plugins: {target}: {message}", field="networks.plugins")
