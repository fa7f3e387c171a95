"""The quotas that networks declare, and how they are parsed."""

from __future__ import annotations

import tomllib
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from postino.outbound.http import OutboundHttp
from postino.providers.declaration import parse_quotas
from postino.providers.planned_quotas import PLANNED_QUOTAS
from postino.providers.registry import load_built_in
from postino.rules.quota import CalendarPeriod, Quota, QuotaUse, find_refill_time, get_cost
from postino.testing.sandbox import SandboxServer
from postino.values.gate import Scope
from postino.values.networks import PLANNED_NETWORKS
from postino.values.provider import Media, Provider
from tests.providers.memory_call import MemoryCall
from tests.providers.samples import make_post

QUOTAS = load_built_in().quotas
PROVIDERS = list(load_built_in().providers.values())


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
def test_every_built_in_quota_has_a_recent_date_and_a_source(provider: Any) -> None:
    for quota in provider.quotas:
        assert date(2026, 1, 1) < quota["checked"]
        assert quota["source"]


@pytest.mark.parametrize("network", QUOTAS)
def test_every_quota_frees_up_within_a_day(network: str) -> None:
    now = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
    for quota in QUOTAS[network]:
        for operation in quota.costs:
            free = find_refill_time(quota, [QuotaUse(now, quota.most)], get_cost(quota, operation), now)
            assert free is not None
            assert now < free <= now + timedelta(days=1)


@pytest.mark.parametrize("provider", [it for it in PROVIDERS if it.name in QUOTAS], ids=lambda provider: provider.name)
async def test_quota_costs_match_the_steps_of_the_network(
    sandbox: SandboxServer, outbound: OutboundHttp, pictures: tuple[Media, ...], provider: Provider
) -> None:
    account = sandbox.account(provider.name)
    call = MemoryCall(outbound, provider, account)
    parts = ("one", "two") if load_built_in().limits[provider.name].threads else ("one",)
    await provider.publish(make_post(account, *parts, media=pictures), call)
    done = [*call.steps, *call.receipts]
    for quota in QUOTAS[provider.name]:
        for operation in quota.costs:
            assert any(step.startswith(f"{operation} ") and get_cost(quota, step) for step in done), operation
    # Whatever is visible costs something.
    assert all(any(get_cost(quota, step) for quota in QUOTAS[provider.name]) for step in call.receipts)


@pytest.mark.parametrize(
    ("network", "name", "operation", "cost", "most"),
    [
        ("bluesky", "points per hour", "post 1", 3, 5_000),
        ("bluesky", "points per day", "post 2", 3, 35_000),
        ("mastodon", "uploads per 30 minutes", "media 4", 1, 30),
        ("tiktok", "posts per minute", "publish", 1, 6),
        ("youtube", "uploads per day", "publish", 1, 100),
        ("youtube", "units per day", "publish", 50, 10_000),
    ],
)
def test_quota_figures_match_what_the_networks_publish(
    network: str, name: str, operation: str, cost: int, most: int
) -> None:
    quota = next(quota for quota in QUOTAS[network] if quota.name == name)
    assert (get_cost(quota, operation), quota.most) == (cost, most)


def test_youtube_day_begins_at_midnight_in_california() -> None:
    for quota in QUOTAS["youtube"]:
        used_up = [QuotaUse(datetime(2026, 11, 1, 8, 0, tzinfo=UTC), quota.most)]
        free = find_refill_time(quota, used_up, 1, datetime(2026, 11, 2, 7, 30, tzinfo=UTC))  # a day of 25 hours
        assert free == datetime(2026, 11, 2, 8, 0, tzinfo=UTC)
        assert quota.whose is Scope.CHANNEL


DECLARED = """
[[quotas]]
name = "posts"
most = 25
period = { hours = 1, minutes = 30 }
whose = "account"
costs = { publish = 2 }
checked = 2026-11-16
source = "somewhere"
[[quotas]]
name = "units"
most = 50
calendar = "month"
timezone = "Europe/Rome"
whose = "channel"
costs = { a = 1 }
checked = 2026-11-16
source = "somewhere"
"""


def parse(declared: str) -> tuple[Quota, ...]:
    return parse_quotas(tomllib.loads(declared)["quotas"])


def test_all_quotas_are_parsed() -> None:
    posts = Quota(name="posts", most=25, period=timedelta(minutes=90), whose=Scope.ACCOUNT, costs={"publish": 2})
    units = Quota(
        name="units",
        most=50,
        calendar=CalendarPeriod.MONTH,
        timezone="Europe/Rome",
        whose=Scope.CHANNEL,
        costs={"a": 1},
    )
    assert parse(DECLARED) == (posts, units)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("checked = 2026-11-16", ""),
        ("checked = 2026-11-16", "checked = '2026-11-16'"),
        ("checked = 2026-11-16", "checked = 2026-11-16T00:00:00"),
        ("checked", "looked_up"),
        ('"somewhere"', '""'),
        ("source", "origin"),
        ('name = "posts"', 'title = "posts"'),
        ('name = "units"', 'name = "posts"'),
        ("most = 25", "max = 25"),
        ("most = 25", "most = 0"),
        ("most = 25", "most = 2.5"),
        ("most = 25", "most = true"),
        ("hours = 1", "hour = 1"),
        ("period = { hours = 1, minutes = 30 }", ""),
        ('"month"', '"week"'),
        ("Europe/Rome", "Europe/Roma"),
        ('timezone = "Europe/Rome"', ""),
        ('whose = "account"', 'whose = "brand"'),
        ('whose = "account"', 'whose = "everybody"'),
        ("publish = 2", "publish = -2"),
        ("publish = 2", "publish = 0.5"),
        ("{ publish = 2 }", "{}"),
        ('whose = "channel"', 'whose = "channel"\nburst = 3'),
    ],
)
def test_misspelt_or_impossible_quota_is_an_error(right: str, wrong: str) -> None:
    assert right in DECLARED
    with pytest.raises((TypeError, ValueError)):
        parse(DECLARED.replace(right, wrong, 1))


def test_planned_quotas_are_of_planned_networks() -> None:
    assert PLANNED_QUOTAS.keys() <= PLANNED_NETWORKS.keys()
    assert not PLANNED_NETWORKS.keys() & load_built_in().providers.keys()
