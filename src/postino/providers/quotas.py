"""Reads quotas.toml, which says what each network takes in a period and when that was last looked up."""

import tomllib
from collections.abc import Mapping
from datetime import date, timedelta
from functools import cache
from importlib.resources import files
from typing import Any

from postino.rules.quota import Calendar, Quota
from postino.values.content import NETWORKS
from postino.values.gate import Scope


@cache
def load_quotas() -> Mapping[str, tuple[Quota, ...]]:
    """Every network's, as delivered with this version; a network that publishes no figures is not among them."""
    return parse_quotas((files("postino.providers") / "quotas.toml").read_text())


def parse_quotas(text: str) -> dict[str, tuple[Quota, ...]]:
    """A key nobody knows is an error: a quota that is misspelt would not be kept."""
    return {network: _quotas(network, **table) for network, table in tomllib.loads(text).items()}


def _quotas(network: str, *, checked: date, source: str, quotas: list[Mapping[str, Any]]) -> tuple[Quota, ...]:
    if network not in NETWORKS:
        raise ValueError(f"there is no network {network!r}")
    if type(checked) is not date or not source:
        raise ValueError(f"{network}: quotas need a date and a source, not {checked!r} and {source!r}")
    read = tuple(quota_of(**quota) for quota in quotas)
    if not read or len({quota.name for quota in read}) < len(read):
        raise ValueError(f"{network}: there must be quotas, and each by its own name")
    return read


def quota_of(
    *,
    most: int,
    whose: str,
    costs: Mapping[str, int],
    period: Mapping[str, int] | None = None,
    calendar: str | None = None,
    **told: Any,
) -> Quota:
    for said in (most, *costs.values()):
        if type(said) is not int:
            raise ValueError(f"{told.get('name')}: quotas are counted in whole numbers, not {said!r}")
    return Quota(
        most=most,
        whose=Scope(whose),
        costs=dict(costs),
        period=None if period is None else timedelta(**period),
        calendar=None if calendar is None else Calendar(calendar),
        **told,
    )
