"""The simulated networks: every module in this package with a `NETWORK` is one."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from postino.sandbox.network import SandboxNetwork


@cache
def networks() -> Mapping[str, SandboxNetwork]:
    """Return all networks by name, in alphabetical order."""
    modules = [import_module(f"{__name__}.{entry.name}") for entry in iter_modules(__path__)]
    found: list[SandboxNetwork] = [module.NETWORK for module in modules]
    return {network.name: network for network in found}


@cache
def default_settings() -> Mapping[str, float]:
    """Return the default settings, each named `<network>_<setting>`."""
    return {
        f"{network.name}_{name}": value for network in networks().values() for name, value in network.settings.items()
    }
