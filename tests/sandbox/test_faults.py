"""Every fault at every endpoint, taken from the route tables."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import pytest

from postino.sandbox.faults import FAULT_KINDS, list_faults_by_endpoint
from postino.sandbox.network import SandboxEndpoint
from postino.sandbox.networks import networks
from tests.sandbox.sandbox_client import SandboxClient
from tests.sandbox.scripted_calls import SCRIPTED_CALLS, ScriptedCall

SHORT: dict[str, dict[str, Any]] = {
    "timeout": {"seconds": 0.05}, "slow": {"seconds": 0.05}, "invisible": {"seconds": 60},
    "rate_limited": {"seconds": 7},
}  # fmt: skip
SWEEP = sorted(list_faults_by_endpoint())


def get_endpoint(network: str, name: str) -> SandboxEndpoint:
    [rows] = [endpoint for endpoint in networks()[network].endpoints if endpoint.name == name]
    return rows


def test_every_endpoint_has_a_scripted_call() -> None:
    assert set(SCRIPTED_CALLS) == {
        (network.name, it.name) for network in networks().values() for it in network.endpoints
    }


def test_sweep_contains_every_fault_and_the_common_ones_everywhere() -> None:
    assert {fault for _, _, fault in SWEEP} <= set(FAULT_KINDS)
    everywhere = set(FAULT_KINDS) - {"error_but_published", "invisible", "session_gone", "lost_refresh"}
    for network, endpoint in SCRIPTED_CALLS:
        assert everywhere <= {fault for where, at, fault in SWEEP if (where, at) == (network, endpoint)}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("network", "endpoint"), SCRIPTED_CALLS)
async def test_every_endpoint_responds(shared_sandbox: SandboxClient, network: str, endpoint: str) -> None:
    sandbox = shared_sandbox
    prepared = await SCRIPTED_CALLS[network, endpoint](sandbox)
    before = len(await sandbox.list_published())
    response = await prepared.send(sandbox)
    assert response.status < 400, response.text
    assert len(await sandbox.list_published()) == before + get_endpoint(network, endpoint).visible


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("network", "endpoint", "fault"), SWEEP)
async def test_fault_occurs_once_at_its_endpoint(
    shared_sandbox: SandboxClient, network: str, endpoint: str, fault: str
) -> None:
    sandbox = shared_sandbox
    prepared = await SCRIPTED_CALLS[network, endpoint](sandbox)
    before = len(await sandbox.list_published())
    await sandbox.fault(network, fault, endpoint=endpoint, times=1, params=SHORT.get(fault, {}))
    expected = await shows_fault(sandbox, prepared, fault)
    assert expected, fault
    published = len(await sandbox.list_published()) - before
    assert published == (get_endpoint(network, endpoint).visible and FAULT_KINDS[fault].processed)
    assert (await sandbox.get("/_sandbox/faults")).json["data"] == []
    *_, faults_drawn = (await sandbox.get("/_sandbox/faults?all=1")).json["data"]
    assert (faults_drawn["fired"], faults_drawn["times"]) == (1, 0)


async def shows_fault(sandbox: SandboxClient, prepared: ScriptedCall, fault: str) -> bool:
    """Send the call and return whether the response shows the fault."""
    if fault in ("drop", "process_then_drop", "lost_refresh"):
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await prepared.send(sandbox)
        return True
    try:
        response = await prepared.send(sandbox)
    except (ValueError, aiohttp.ServerDisconnectedError):
        return fault == "truncated"
    match fault:
        case "process_then_500":
            return response.status == 500 and response.json is not None
        case "timeout":
            return response.status == 504 and "<html" in response.text
        case "error_but_published":
            return response.status >= 400 and response.json is not None
        case "rate_limited":
            return response.status == 429 and response.headers["Retry-After"] == "7"
        case "session_gone":
            return response.status in (400, 404) or response.json["status_code"] == "EXPIRED"
        case "html":
            return response.status == 502 and "<html" in response.text
        case _:
            return response.status < 400 and fault in ("slow", "invisible")


@pytest.fixture
async def message(sandbox: SandboxClient) -> ScriptedCall:
    return await SCRIPTED_CALLS["telegram", "sendMessage"](sandbox)


async def test_fault_without_endpoint_waits_for_a_possible_one(sandbox: SandboxClient) -> None:
    await sandbox.fault("*", "error_but_published")
    assert (await (await SCRIPTED_CALLS["mastodon", "verify_credentials"](sandbox)).send(sandbox)).status == 200
    assert (await (await SCRIPTED_CALLS["mastodon", "statuses"](sandbox)).send(sandbox)).status == 503
    assert len(await sandbox.list_published()) == 1


async def test_fault_of_one_account_spares_the_others(sandbox: SandboxClient) -> None:
    account = await sandbox.account("mastodon")
    await sandbox.fault("mastodon", "drop", account=account["handle"], times=1000)
    assert (await (await SCRIPTED_CALLS["mastodon", "statuses"](sandbox)).send(sandbox)).status == 200
    headers = {"Authorization": f"Bearer {account['credentials']['access_token']}"}
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await sandbox.post("/mastodon/api/v1/statuses", {"status": "x"}, headers=headers)


async def test_rate_hits_a_share_of_the_calls(sandbox: SandboxClient, message: ScriptedCall) -> None:
    await sandbox.fault("telegram", "process_then_500", rate=0.5)
    statuses = [(await message.send(sandbox)).status for _ in range(60)]
    assert 5 < statuses.count(500) < 55
    assert len(await sandbox.list_published()) == 60
    await sandbox.fault("telegram", "process_then_500", rate=1.0)
    assert (await message.send(sandbox)).status == 500


async def test_faults_occur_in_the_order_they_were_added(sandbox: SandboxClient, message: ScriptedCall) -> None:
    await sandbox.fault("telegram", "rate_limited", times=2)
    await sandbox.fault("*", "process_then_500")
    assert [(await message.send(sandbox)).status for _ in range(4)] == [429, 429, 500, 200]


async def test_invisible_post_is_missing_from_lists_but_found_by_id(
    sandbox: SandboxClient,
) -> None:
    account = await sandbox.account("mastodon")
    auth = {"headers": {"Authorization": f"Bearer {account['credentials']['access_token']}"}}
    listing = f"/mastodon/api/v1/accounts/{account['remote_id']}/statuses"
    await sandbox.fault("mastodon", "invisible", params={"seconds": 600})
    await sandbox.fault("mastodon", "process_then_drop", endpoint="statuses")
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await sandbox.post("/mastodon/api/v1/statuses", {"status": "hidden"}, **auth)
    [result] = await sandbox.list_published()
    assert (await sandbox.get(listing, **auth)).json == []
    assert (await sandbox.get(f"/mastodon/api/v1/statuses/{result['remote_id']}", **auth)).status == 200
    await sandbox.fault("mastodon", "invisible", params={"seconds": 0.1})
    await sandbox.post("/mastodon/api/v1/statuses", {"status": "visible soon"}, **auth)

    async def list_statuses() -> Any:
        return (await sandbox.get(listing, **auth)).json

    assert [it["content"] for it in await sandbox.eventually(list_statuses)] == ["<p>visible soon</p>"]


async def test_slow_call_is_processed_after_the_client_left(sandbox: SandboxClient, message: ScriptedCall) -> None:
    await sandbox.fault("telegram", "slow", params={"seconds": 1})
    with pytest.raises(TimeoutError):
        await sandbox.call(message.method, message.path, **message.options, timeout=aiohttp.ClientTimeout(total=0.05))
    assert await sandbox.list_published() == []
    assert len(await sandbox.eventually(sandbox.list_published)) == 1
    [account] = (await sandbox.get("/_sandbox/calls")).json["data"]
    assert (account["calls"], account["in_flight"]) == (1, 0)


async def test_timeout_and_html_can_skip_processing(sandbox: SandboxClient, message: ScriptedCall) -> None:
    await sandbox.fault("telegram", "timeout", params={"seconds": 0, "processed": False})
    await sandbox.fault("telegram", "html", params={"status": 200, "processed": False})
    assert (await message.send(sandbox)).status == 504
    response = await message.send(sandbox)
    assert (response.status, response.json) == (200, None)
    assert await sandbox.list_published() == []


async def test_truncated_response_can_close_the_connection(sandbox: SandboxClient, message: ScriptedCall) -> None:
    await sandbox.fault("telegram", "truncated", params={"hang_up": True})
    with pytest.raises(aiohttp.ClientPayloadError):
        await message.send(sandbox)
    assert len(await sandbox.list_published()) == 1


@pytest.mark.parametrize("params", [{"http_date": 90}, {"http_date": True, "seconds": 90}])
async def test_rate_limit_end_can_be_a_date(
    sandbox: SandboxClient, message: ScriptedCall, params: dict[str, Any]
) -> None:
    await sandbox.fault("telegram", "rate_limited", params=params)
    response = await message.send(sandbox)
    asked_at = parsedate_to_datetime(response.headers["Date"])
    wait = (parsedate_to_datetime(response.headers["Retry-After"]) - asked_at).total_seconds()
    assert 89 <= wait <= 92


@pytest.mark.parametrize("params", [{}, {"none": True}])
async def test_rate_limit_can_have_no_hint(sandbox: SandboxClient, params: dict[str, Any]) -> None:
    for network, endpoint in (("mastodon", "statuses"), ("bluesky", "putRecord"), ("telegram", "sendMessage")):
        prepared = await SCRIPTED_CALLS[network, endpoint](sandbox)
        await sandbox.fault(network, "rate_limited", endpoint=endpoint, params=params)
        response = await prepared.send(sandbox)
        assert response.status == 429
        assert not [name for name in response.headers if "retry" in name.lower() or "ratelimit" in name.lower()]
        assert "parameters" not in response.json


async def test_rate_limit_end_can_be_the_networks_header_alone(sandbox: SandboxClient) -> None:
    prepared = await SCRIPTED_CALLS["mastodon", "statuses"](sandbox)
    await sandbox.fault("mastodon", "rate_limited", params={"reset": 30})
    response = await prepared.send(sandbox)
    assert "Retry-After" not in response.headers
    assert response.headers["X-RateLimit-Remaining"] == "0"
