"""Every file in this folder is a network."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from postino.sandbox.network import Network


@cache
def networks() -> Mapping[str, Network]:
    """By name, in the order of their names."""
    modules = [import_module(f"{__name__}.{entry.name}") for entry in iter_modules(__path__)]
    found: list[Network] = [module.NETWORK for module in modules]
    return {network.name: network for network in found}


@cache
def default_settings() -> Mapping[str, float]:
    """What tests may make shorter, by `network_name`."""
    return {
        f"{network.name}_{name}": value for network in networks().values() for name, value in network.settings.items()
    }
