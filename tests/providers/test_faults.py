"""Every fault at every endpoint of the sandbox: each outcome is expected, and nothing is published twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from postino.outbound.http import OutboundHttp
from postino.providers.bluesky import Bluesky
from postino.providers.registry import load_built_in
from postino.sandbox.faults import list_faults_by_endpoint
from postino.sandbox.networks import networks
from postino.testing.sandbox import SandboxServer
from postino.values.provider import (
    Account,
    Failure,
    FailureKind,
    LostResponse,
    Media,
    NotSent,
    PromiseClass,
    Provider,
    Published,
    Tokens,
)
from tests.providers.memory_call import MemoryCall, PersonNeeded, StepRefused, StepUncertain
from tests.providers.samples import make_post

BUILT_IN = load_built_in()
NETWORKS: dict[str, Any] = {name: type(provider) for name, provider in BUILT_IN.providers.items()}
PICTURES = {"sendMessage": 0, "getMe": 0, "getChat": 0, "sendMediaGroup": 2}  # by endpoint, so that it is called
PARAMS: dict[str, dict[str, Any]] = {"timeout": {"seconds": 3}, "slow": {"seconds": 0.2}, "invisible": {"seconds": 0.2}}
NOT_FOR_PUBLISHING = {
    "refreshSession", "createRecord", "listRecords", "status", "instance", "getMe", "getChat",
}  # fmt: skip
NOT_LISTED = {"nodeinfo_links", "nodeinfo"}  # called only if a lookup found nothing
SIGN_INS = {"createSession", "refreshSession", "verify_credentials", "getMe"}


CASES = [case for case in list_faults_by_endpoint() if case[0] in NETWORKS]


def quick(network: str) -> Provider:
    """Return a provider whose timeout is shorter than the fault `timeout`."""
    provider: Provider = NETWORKS[network]()
    provider.timeout = timedelta(seconds=0.4)
    return provider


def visible_endpoints(network: str) -> list[str]:
    return [endpoint.name for endpoint in networks()[network].endpoints if endpoint.visible]


async def run(provider: Provider, post: Any, call: MemoryCall) -> Published | Failure | str:
    """Publish with retries, without waiting; return how it ended."""
    ending: Published | Failure | str = "never ended"
    for _ in range(6):
        try:
            return await provider.publish(post, call)
        except StepRefused as refused:
            ending = refused.failure
            if ending.kind in (FailureKind.PERMANENT, FailureKind.AUTH):
                return ending
        except PersonNeeded as error:
            return f"a person decides: {error}"
        except (StepUncertain, NotSent, LostResponse) as trouble:
            ending = str(trouble)
    return ending


@pytest.mark.slow
@pytest.mark.parametrize(("network", "endpoint", "fault"), CASES)
async def test_every_fault_has_an_expected_outcome_and_no_duplicate(
    sandbox: SandboxServer, outbound: OutboundHttp, pictures: tuple[Media, ...], network: str, endpoint: str, fault: str
) -> None:
    provider, account = quick(network), replace(sandbox.account(network), remote_id=None)
    if network == "telegram":
        account = sandbox.account(network)
    sandbox.fail(network, fault, endpoint, **PARAMS.get(fault, {}))
    if endpoint not in visible_endpoints(network):
        lost = "drop" if endpoint in NOT_LISTED else "process_then_drop"
        sandbox.fail(network, lost, visible_endpoints(network)[0])  # so that somebody has to look
    call = MemoryCall(outbound, provider, account)
    limits = BUILT_IN.limits[network]
    parts = ("one", "two") if limits.threads else ("one",)
    post = make_post(account, *parts, media=pictures[: PICTURES.get(endpoint, 1) if limits.media.kinds else 0])

    ending = await run(provider, post, call)

    waiting = [one["endpoint"] for one in sandbox.get("faults")]
    assert (endpoint in waiting) == (endpoint in NOT_FOR_PUBLISHING)
    out = [one["text"] for one in sandbox.published(network)]
    assert len(out) == len(set(out))
    match ending:
        case Published():
            assert sorted(out) == sorted(post.parts)
        case _:
            assert provider.promise.grade in (PromiseClass.C, PromiseClass.D)
            assert str(ending).startswith("a person decides")


@pytest.mark.slow
@pytest.mark.parametrize(("network", "endpoint", "fault"), [case for case in CASES if case[1] in SIGN_INS])
async def test_refresh_returns_tokens_or_a_failure(
    sandbox: SandboxServer, outbound: OutboundHttp, network: str, endpoint: str, fault: str
) -> None:
    provider = quick(network)
    account = await with_tokens(sandbox, outbound) if endpoint == "refreshSession" else sandbox.account(network)
    sandbox.fail(network, fault, endpoint, **PARAMS.get(fault, {}))
    http = outbound.open(timeout=provider.timeout, visible=True, secrets=list(account.credentials.values()))
    ended: Tokens | Failure | Exception
    try:
        ended = await provider.refresh(account, http)
    except (NotSent, LostResponse) as trouble:
        ended = trouble
    text = str(ended)
    assert not any(secret in text for secret in account.credentials.values() if secret != account.handle)
    assert not isinstance(ended, Failure) or ended.kind in (FailureKind.TRANSIENT, FailureKind.RATE_LIMIT)


async def with_tokens(sandbox: SandboxServer, outbound: OutboundHttp) -> Account:
    account = sandbox.account("bluesky")
    http = outbound.open(timeout=timedelta(seconds=5), visible=False)
    url = f"{account.base_url}/xrpc/com.atproto.server.createSession"
    text = (await http.request("POST", url, json=dict(account.credentials))).json()
    tokens = {"access_token": text["accessJwt"], "refresh_token": text["refreshJwt"]}
    return replace(account, credentials=tokens)


@pytest.mark.parametrize("params", [{"seconds": 41}, {"http_date": 41}, {"reset": 41}, {"none": True}])
@pytest.mark.parametrize(("network", "endpoint"), [("bluesky", "putRecord"), ("mastodon", "statuses")])
async def test_rate_limit_has_an_end_if_the_network_gives_one(
    sandbox: SandboxServer, outbound: OutboundHttp, network: str, endpoint: str, params: dict[str, Any]
) -> None:
    provider, account = quick(network), sandbox.account(network)
    sandbox.fail(network, "rate_limited", endpoint, **params)
    call = MemoryCall(outbound, provider, account)
    with pytest.raises(StepRefused) as raised:
        await provider.publish(make_post(account, "one"), call)
    failure = raised.value.failure
    assert failure.kind is FailureKind.RATE_LIMIT
    assert (failure.until is None) == ("none" in params)
    assert call.intents == {}  # a limit is a refusal: nothing is out


async def test_expired_session_is_renewed_once_within_the_attempt(
    sandbox: SandboxServer, outbound: OutboundHttp
) -> None:
    bluesky, account = Bluesky(), sandbox.account("bluesky")
    await bluesky.publish(make_post(account, "one"), MemoryCall(outbound, bluesky, account))
    sandbox.post(f"accounts/bluesky/{account.handle}", {"token_expired": True})
    await bluesky.publish(make_post(account, "two"), MemoryCall(outbound, bluesky, account))
    assert [one["text"] for one in sandbox.published("bluesky")] == ["one", "two"]

    sandbox.post("settings", {"bluesky_access_seconds": 0})  # from now on every session is over at once
    sandbox.post(f"accounts/bluesky/{account.handle}", {"token_expired": True})
    with pytest.raises(StepRefused) as raised:
        await bluesky.publish(make_post(account, "three"), MemoryCall(outbound, bluesky, account))
    assert raised.value.failure.kind is FailureKind.AUTH


@pytest.mark.parametrize("network", sorted(NETWORKS))
async def test_blocked_account_is_suspended(sandbox: SandboxServer, outbound: OutboundHttp, network: str) -> None:
    provider, account = quick(network), sandbox.account(network)
    sandbox.post(f"accounts/{network}/{account.handle}", {"blocked": True})
    with pytest.raises(StepRefused) as raised:
        await provider.publish(make_post(account, "one"), MemoryCall(outbound, provider, account))
    assert raised.value.failure.kind is FailureKind.SUSPENDED
    assert raised.value.failure.message.endswith("reconnect the account.")
    http = outbound.open(timeout=provider.timeout, visible=False, secrets=list(account.credentials.values()))
    refreshed = await provider.refresh(account, http)
    assert isinstance(refreshed, Failure)
    assert refreshed.kind is FailureKind.SUSPENDED
