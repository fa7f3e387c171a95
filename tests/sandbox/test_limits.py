"""Imposed rate limits are enforced until they end, and the call log shows who called too early."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any

import pytest

from postino.sandbox.faults import ScheduledFault
from tests.sandbox.sandbox_client import SandboxClient
from tests.sandbox.scripted_calls import SCRIPTED_CALLS, ScriptedCall


@pytest.fixture
async def messages(sandbox: SandboxClient) -> list[ScriptedCall]:
    """Return a message call for each of two accounts."""
    return [await SCRIPTED_CALLS["telegram", "sendMessage"](sandbox) for _ in range(2)]


async def read_limit_end(sandbox: SandboxClient) -> datetime:
    """Return the end of the rate limit in the newest call of the log."""
    return datetime.fromisoformat((await sandbox.log())[-1]["retry_after_at"])


async def test_early_call_of_a_limited_account_is_refused_again(
    sandbox: SandboxClient, messages: list[ScriptedCall]
) -> None:
    first, second = messages
    await sandbox.fault("telegram", "rate_limited", params={"seconds": 60})
    assert [(await first.send(sandbox)).status for _ in range(3)] == [429] * 3
    assert (await second.send(sandbox)).status == 200
    assert (await sandbox.get("/_sandbox/faults?all=1")).json["data"][0]["fired"] == 1
    rows = await sandbox.log()
    assert [it["status"] for it in rows] == [429, 429, 429, 200]
    for row in rows[:3]:
        wait = datetime.fromisoformat(row["retry_after_at"]) - datetime.fromisoformat(row["began_at"])
        assert timedelta(seconds=59) < wait < timedelta(seconds=62)
    assert rows[3]["retry_after_at"] is None


async def test_limit_for_everyone_stops_one_network_only(sandbox: SandboxClient, messages: list[ScriptedCall]) -> None:
    first, second = messages
    other = await SCRIPTED_CALLS["mastodon", "statuses"](sandbox)
    await sandbox.fault("*", "rate_limited", account="postcard2", params={"seconds": 60, "everyone": True})
    assert [(await it.send(sandbox)).status for it in (first, second)] == [429, 429]
    assert (await sandbox.get("/telegram/botnobody/getMe")).status == 429
    assert (await other.send(sandbox)).status == 200
    await sandbox.call("DELETE", "/_sandbox/faults?network=telegram")
    assert (await second.send(sandbox)).status == 429
    await sandbox.call("DELETE", "/_sandbox/faults?network=*")
    assert [(await it.send(sandbox)).status for it in (first, second)] == [200, 200]


@pytest.mark.parametrize("everyone", [False, True])
async def test_limit_ends_at_the_given_time(
    sandbox: SandboxClient, messages: list[ScriptedCall], everyone: bool
) -> None:
    await sandbox.fault("telegram", "rate_limited", params={"seconds": 1, "everyone": everyone})
    assert (await messages[0].send(sandbox)).status == 429
    until = await read_limit_end(sandbox)
    assert (await messages[0].send(sandbox)).status == 429
    await asyncio.sleep((until - datetime.now(UTC)).total_seconds())
    assert [(await it.send(sandbox)).status for it in messages] == [200, 200]


@pytest.mark.parametrize("network", ["bluesky", "mastodon", "telegram", "x", "instagram", "youtube"])
@pytest.mark.parametrize("params", [{"seconds": 90}, {"http_date": 90}, {"http_date": True, "seconds": 90}])
async def test_call_log_shows_the_time_of_the_header(
    sandbox: SandboxClient, network: str, params: dict[str, Any]
) -> None:
    endpoint = {"bluesky": "putRecord", "mastodon": "statuses", "telegram": "sendMessage", "x": "tweets",
                "instagram": "media_publish", "youtube": "videos_update"}[network]  # fmt: skip
    scripted_call = await SCRIPTED_CALLS[network, endpoint](sandbox)
    await sandbox.fault(network, "rate_limited", endpoint=endpoint, params=params)
    for _ in range(2):
        retry_after, now = (await scripted_call.send(sandbox)).headers["Retry-After"], datetime.now(UTC)
        until = await read_limit_end(sandbox)
        if retry_after.isdigit():
            assert timedelta(seconds=-2) < until - now - timedelta(seconds=int(retry_after)) < timedelta()
        else:
            assert until == parsedate_to_datetime(retry_after)


@pytest.mark.parametrize(
    ("network", "endpoint", "wait"),
    [("bluesky", "putRecord", 30), ("mastodon", "statuses", 30), ("telegram", "sendMessage", 30), ("x", "tweets", 30),
     ("instagram", "media_publish", 60)],
)  # fmt: skip
async def test_limit_by_the_networks_own_header_is_enforced(
    sandbox: SandboxClient, network: str, endpoint: str, wait: int
) -> None:
    scripted_call = await SCRIPTED_CALLS[network, endpoint](sandbox)
    await sandbox.fault(network, "rate_limited", endpoint=endpoint, params={"reset": 30})
    for _ in range(2):
        response, now = await scripted_call.send(sandbox), datetime.now(UTC)
        assert (response.status, "Retry-After" in response.headers) == (429, False)
        assert timedelta(seconds=wait - 2) < await read_limit_end(sandbox) - now < timedelta(seconds=wait + 1)


@pytest.mark.parametrize(
    ("params", "again"),
    [({"none": True}, 200), ({}, 200), ({"seconds": 0}, 200), ({"http_date": "soon"}, 200),
     ({"http_date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 200),
     ({"http_date": format_datetime(datetime(2099, 1, 1, tzinfo=UTC), usegmt=True)}, 429)],
)  # fmt: skip
async def test_only_future_times_are_enforced(
    sandbox: SandboxClient, messages: list[ScriptedCall], params: dict[str, Any], again: int
) -> None:
    await sandbox.fault("telegram", "rate_limited", params=params)
    assert [(await messages[0].send(sandbox)).status for _ in range(2)] == [429, again]


async def test_own_limits_of_networks_are_in_the_call_log(sandbox: SandboxClient) -> None:
    scripted_call = await SCRIPTED_CALLS["mastodon", "statuses"](sandbox)
    await sandbox.post("/_sandbox/settings", {"mastodon_calls_per_5_minutes": 0})
    assert (await scripted_call.send(sandbox)).status == 429
    assert await read_limit_end(sandbox) > datetime.now(UTC)


@pytest.mark.parametrize("path", ["faults", "faults/1", "reset"])
async def test_limit_ends_when_its_fault_is_removed(
    sandbox: SandboxClient, messages: list[ScriptedCall], path: str
) -> None:
    await sandbox.fault("telegram", "rate_limited", params={"seconds": 60})
    assert (await messages[0].send(sandbox)).status == 429
    await sandbox.call("POST" if path == "reset" else "DELETE", f"/_sandbox/{path}")
    assert (await messages[0].send(sandbox)).status == 200


async def test_fault_takes_precedence_over_a_limit(sandbox: SandboxClient, messages: list[ScriptedCall]) -> None:
    await sandbox.fault("telegram", "rate_limited", params={"seconds": 60})
    await sandbox.fault("telegram", "process_then_500")
    assert [(await messages[0].send(sandbox)).status for _ in range(3)] == [429, 500, 429]


# Slow answers of different lengths


def test_slow_range_is_spread_and_reproducible() -> None:
    def durations() -> list[float]:
        params = {"seconds": {"min": 2, "max": 10}}
        return [ScheduledFault(network="x", fault="slow", params=params, fired=number).delay for number in range(1000)]

    rows = durations()
    assert rows == durations()
    assert 2 <= min(rows) < 2.2 < 9.8 < max(rows) <= 10
    assert 5.6 < sum(rows) / len(rows) < 6.4


async def test_slow_response_takes_the_time_of_the_range(sandbox: SandboxClient, messages: list[ScriptedCall]) -> None:
    await sandbox.fault("telegram", "slow", times=3, params={"seconds": {"min": 0.1, "max": 0.3}})
    await asyncio.gather(*(messages[0].send(sandbox) for _ in range(3)))
    for row in await sandbox.log():
        took = datetime.fromisoformat(row["ended_at"]) - datetime.fromisoformat(row["began_at"])
        assert took >= timedelta(seconds=0.1)
