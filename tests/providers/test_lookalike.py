"""Servers that speak Mastodon's API, ignore its idempotency key and change posts: nothing is published twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from postino.outbound.http import OutboundHttp
from postino.providers.mastodon import Mastodon
from postino.testing.sandbox import SandboxServer
from postino.values.provider import Account, Media, Post
from tests.providers.memory_call import MemoryCall, PersonNeeded, StepUncertain
from tests.providers.samples import make_post

LINK = "Look: https://example.com/view.jpg"
SHAPES: dict[str, dict[str, Any]] = {
    "plain": {}, "equal images": {}, "link to an image": {},
    "private": {"visibility": "private"}, "direct": {"visibility": "direct"},
}  # fmt: skip
LISTED = {"plain", "equal images", "link to an image"}
LOST = {"drop": 0, "process_then_drop": 1, "process_then_500": 1, "truncated": 1, "html": 1, "error_but_published": 1}


@pytest.fixture
def lookalike(sandbox: SandboxServer) -> Iterator[SandboxServer]:
    sandbox.post("settings", {"mastodon_lookalike": 1})
    yield sandbox
    sandbox.post("settings", {"mastodon_lookalike": None})


def make(shape: str, account: Account, pictures: tuple[Media, ...]) -> Post:
    text = LINK if shape == "link to an image" else shape
    media = (pictures[0], replace(pictures[0], alt="again")) if shape == "equal images" else ()
    return make_post(account, text, media=media, **SHAPES[shape])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fault", LOST)
async def test_lost_response_never_leads_to_a_second_post(
    lookalike: SandboxServer, outbound: OutboundHttp, pictures: tuple[Media, ...], shape: str, fault: str
) -> None:
    account, provider = lookalike.account("mastodon"), Mastodon()
    call = MemoryCall(outbound, provider, account)
    post = make(shape, account, pictures)
    lookalike.fail("mastodon", fault, "statuses")
    with pytest.raises(StepUncertain):
        await provider.publish(post, call)
    if LOST[fault] and shape in LISTED:
        published = await provider.publish(post, call)
        assert [one["remote_id"] for one in lookalike.published("mastodon")] == [published.remote_id]
    else:
        for _ in range(2):
            with pytest.raises(PersonNeeded, match="runs lookalike"):
                await provider.publish(post, call)
    assert (call.sent, len(lookalike.published("mastodon"))) == (1, LOST[fault])


async def test_repeated_request_is_a_second_post_there(lookalike: SandboxServer, outbound: OutboundHttp) -> None:
    """The sandbox's lookalike is as careless as the servers it stands for."""
    account, provider = lookalike.account("mastodon"), Mastodon()
    post = make_post(account, "again")
    for _ in range(2):
        await provider.publish(post, MemoryCall(outbound, provider, account))
    assert len(lookalike.published("mastodon")) == 2
