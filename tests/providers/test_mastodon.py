"""Mastodon on a real server: the idempotency key and the list together prevent duplicates."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from postino.outbound.http import OutboundHttp
from postino.providers.mastodon import CLOCK_ALLOWANCE, Mastodon
from postino.providers.mastodon_status import Status
from postino.values.provider import (
    Account,
    CannotTell,
    Failure,
    FailureKind,
    Found,
    Intent,
    LookupResult,
    LostResponse,
    Media,
    NotFound,
    Tokens,
)
from tests.providers.memory_call import MemoryCall, PersonNeeded, StepRefused, StepUncertain, publish_until_done
from tests.providers.proxy import LossyProxy
from tests.providers.samples import make_post
from tests.servers.mastodon import TOKEN, MastodonServer

pytestmark = pytest.mark.slow  # the server takes some seconds to start

POST = "POST /api/v1/statuses"


@pytest.fixture
def account(proxy_to_mastodon: LossyProxy) -> Account:
    return Account(
        id="account",
        network="mastodon",
        handle="me",
        base_url=proxy_to_mastodon.url,
        credentials={"access_token": TOKEN},
    )


@pytest.fixture
def mastodon() -> Mastodon:
    return Mastodon()


@pytest.fixture
def call(outbound: OutboundHttp, mastodon: Mastodon, account: Account) -> MemoryCall:
    return MemoryCall(outbound, mastodon, account)


@pytest.fixture
def text() -> str:
    """Return a unique text."""
    return f"Grüße & <3 an @friend@example.com #{uuid4().hex}\n\nhttps://example.com/{uuid4().hex}/a/long/way/to/go?b=1"


def list_posts(server: MastodonServer, text: str) -> list[str]:
    """Return the ids of the posts with this text, oldest first."""
    names = [str(status["id"]) for status in reversed(server.statuses())]
    return [name for name in names if server.get(f"/api/v1/statuses/{name}/source")["text"] == text]


# --- What is published


async def test_text_is_published(
    mastodon_server: MastodonServer, account: Account, mastodon: Mastodon, call: MemoryCall, text: str
) -> None:
    published = await mastodon.publish(make_post(account, text, visibility="unlisted", unknown="ignored"), call)
    assert list_posts(mastodon_server, text) == [published.remote_id]
    status = mastodon_server.get(f"/api/v1/statuses/{published.remote_id}")
    assert status["visibility"] == "unlisted"
    assert published.url == status["url"]


async def test_images_are_published_with_alt_texts(
    mastodon_server: MastodonServer,
    account: Account,
    mastodon: Mastodon,
    call: MemoryCall,
    text: str,
    pictures: tuple[Media, ...],
) -> None:
    published = await mastodon.publish(make_post(account, text, media=pictures), call)
    status = mastodon_server.get(f"/api/v1/statuses/{published.remote_id}")
    assert [media["description"] for media in status["media_attachments"]] == ["shade 1", "shade 2"]


async def test_thread_is_a_chain_of_replies(
    mastodon_server: MastodonServer, account: Account, mastodon: Mastodon, call: MemoryCall, text: str
) -> None:
    published = await mastodon.publish(make_post(account, text, f"{text} 2", f"{text} 3"), call)
    [second] = list_posts(mastodon_server, f"{text} 2")
    [third] = list_posts(mastodon_server, f"{text} 3")
    replies = [mastodon_server.get(f"/api/v1/statuses/{name}")["in_reply_to_id"] for name in (second, third)]
    assert replies == [published.remote_id, second]


# --- Never twice


@pytest.mark.parametrize("known", [True, False])
async def test_lost_response_leaves_one_post_found_in_the_list(
    mastodon_server: MastodonServer,
    account: Account,
    mastodon: Mastodon,
    call: MemoryCall,
    text: str,
    proxy_to_mastodon: LossyProxy,
    known: bool,
) -> None:
    me = mastodon_server.get("/api/v1/accounts/verify_credentials")["id"]
    post = make_post(replace(account, remote_id=me if known else None), text, f"{text} 2")
    proxy_to_mastodon.lose("answer", POST)
    with pytest.raises(StepUncertain):
        await mastodon.publish(post, call)
    published = await publish_until_done(mastodon, post, call)
    assert list_posts(mastodon_server, text) == [published.remote_id]
    assert len(list_posts(mastodon_server, f"{text} 2")) == 1
    assert [type(lookup_result) for lookup_result in call.lookup_results] == [Found]


async def test_lost_request_is_sent_again(
    mastodon_server: MastodonServer,
    account: Account,
    mastodon: Mastodon,
    call: MemoryCall,
    text: str,
    proxy_to_mastodon: LossyProxy,
) -> None:
    proxy_to_mastodon.lose("request", POST)
    published = await publish_until_done(mastodon, make_post(account, text), call)
    assert list_posts(mastodon_server, text) == [published.remote_id]
    assert [type(lookup_result) for lookup_result in call.lookup_results] == [NotFound]


async def test_idempotency_key_prevents_a_duplicate_of_an_unlisted_post(
    mastodon_server: MastodonServer, account: Account, mastodon: Mastodon, outbound: OutboundHttp, text: str
) -> None:
    post = make_post(account, text)
    published = [await mastodon.publish(post, MemoryCall(outbound, mastodon, account)) for _ in range(2)]
    assert [one.remote_id for one in published] == list_posts(mastodon_server, text) * 2


async def test_person_decides_after_the_idempotency_key_expired(
    account: Account, mastodon: Mastodon, call: MemoryCall, text: str, proxy_to_mastodon: LossyProxy
) -> None:
    proxy_to_mastodon.lose("request", POST)
    post = make_post(account, text)
    with pytest.raises(StepUncertain):
        await mastodon.publish(post, call)
    [(name, intent)] = call.intents.items()
    call.intents[name] = replace(intent, intended_at=intent.intended_at - timedelta(minutes=51))
    with pytest.raises(PersonNeeded, match="knows its idempotency key"):
        await mastodon.publish(post, call)


# --- Lookup


async def find(
    mastodon: Mastodon, call: MemoryCall, status: Status, intended_at: datetime | None = None
) -> LookupResult | Failure:
    at = intended_at or datetime.now(UTC) - timedelta(seconds=5)
    intent = Intent(number=1, intended_at=at, send_before_at=at + timedelta(seconds=5))
    return await mastodon.find(call.list_taken_ids, call.open(visible=False), intent, status)


@pytest.fixture
def status(mastodon_server: MastodonServer, account: Account, text: str) -> Status:
    me = mastodon_server.get("/api/v1/accounts/verify_credentials")["id"]
    return Status(account, me, "a key", text)


async def publish_by_hand(
    mastodon: Mastodon, outbound: OutboundHttp, account: Account, *parts: str, media: tuple[Media, ...] = ()
) -> str:
    """Publish a status by hand, or as another job."""
    post = make_post(account, *parts, media=media)
    return (await mastodon.publish(post, MemoryCall(outbound, mastodon, account))).remote_id


async def test_same_text_before_the_intent_is_not_a_match(
    mastodon: Mastodon, call: MemoryCall, outbound: OutboundHttp, status: Status
) -> None:
    await publish_by_hand(mastodon, outbound, status.account, status.text)
    later = datetime.now(UTC) + CLOCK_ALLOWANCE + timedelta(seconds=1)
    assert await find(mastodon, call, status, later) == NotFound()


async def test_server_clock_slightly_behind_still_matches(
    mastodon: Mastodon, call: MemoryCall, outbound: OutboundHttp, status: Status
) -> None:
    name = await publish_by_hand(mastodon, outbound, status.account, status.text)
    lookup_result = await find(mastodon, call, status, datetime.now(UTC) + CLOCK_ALLOWANCE / 2)
    assert isinstance(lookup_result, Found)
    assert lookup_result.receipt.remote_id == name


async def test_post_of_another_job_is_not_a_match(
    mastodon: Mastodon, call: MemoryCall, outbound: OutboundHttp, status: Status
) -> None:
    call.others.add(await publish_by_hand(mastodon, outbound, status.account, status.text))
    assert await find(mastodon, call, status) == NotFound()
    name = await publish_by_hand(mastodon, outbound, status.account, status.text)
    lookup_result = await find(mastodon, call, status)
    assert isinstance(lookup_result, Found)
    assert lookup_result.receipt.remote_id == name


async def test_several_matches_leave_the_choice_to_a_person(
    mastodon: Mastodon, call: MemoryCall, outbound: OutboundHttp, status: Status
) -> None:
    for _ in range(2):
        await publish_by_hand(mastodon, outbound, status.account, status.text)
    assert isinstance(await find(mastodon, call, status), CannotTell)


async def test_different_text_files_or_reply_is_not_a_match(
    mastodon: Mastodon, call: MemoryCall, outbound: OutboundHttp, status: Status, pictures: tuple[Media, ...]
) -> None:
    first = await publish_by_hand(
        mastodon, outbound, status.account, f"{status.text}!", status.text
    )  # ours is no reply
    await publish_by_hand(mastodon, outbound, status.account, status.text, media=pictures[:1])
    assert await find(mastodon, call, status) == NotFound()
    assert isinstance(await find(mastodon, call, replace(status, reply_to=first)), Found)
    assert isinstance(await find(mastodon, call, replace(status, media=("one",))), Found)


async def test_server_of_other_software_is_never_sent_the_same_again(
    mastodon: Mastodon, call: MemoryCall, outbound: OutboundHttp, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the key, "not in the list" proves nothing, and a difference may be the server's own."""
    assert await find(mastodon, call, status) == NotFound()
    monkeypatch.setattr("postino.providers.mastodon_software.HONOURS_KEY", {})
    lookup_result = await find(mastodon, call, status)
    assert isinstance(lookup_result, CannotTell)
    assert "It runs mastodon" in lookup_result.why
    name = await publish_by_hand(mastodon, outbound, status.account, status.text)
    assert isinstance(await find(mastodon, call, replace(status, media=("one",))), CannotTell)
    found = await find(mastodon, call, status)
    assert isinstance(found, Found)
    assert found.receipt.remote_id == name


async def test_match_is_found_on_the_second_page(
    mastodon: Mastodon, call: MemoryCall, outbound: OutboundHttp, status: Status, text: str
) -> None:
    name = await publish_by_hand(mastodon, outbound, status.account, text)
    await publish_by_hand(mastodon, outbound, status.account, *(f"{text} {number}" for number in range(41)))
    lookup_result = await find(mastodon, call, status, datetime.now(UTC) - timedelta(seconds=30))
    assert isinstance(lookup_result, Found)
    assert lookup_result.receipt.remote_id == name


async def test_failed_list_call_does_not_count_as_not_found(
    mastodon: Mastodon, call: MemoryCall, status: Status, proxy_to_mastodon: LossyProxy
) -> None:
    assert isinstance(await find(mastodon, call, replace(status, account_id="0")), Failure)
    proxy_to_mastodon.lose("answer", "/statuses?")
    with pytest.raises(LostResponse):
        await find(mastodon, call, status)


# --- Refusals


async def test_revoked_token_asks_to_reconnect(
    account: Account, mastodon: Mastodon, outbound: OutboundHttp, text: str
) -> None:
    revoked = replace(account, credentials={"access_token": "withdrawn"})
    with pytest.raises(StepRefused, match="Reconnect") as raised:
        await mastodon.publish(make_post(revoked, text), MemoryCall(outbound, mastodon, revoked))
    assert raised.value.failure.kind is FailureKind.AUTH
    http = outbound.open(timeout=mastodon.timeout, visible=False)
    assert isinstance(await mastodon.refresh(revoked, http), Failure)
    assert await mastodon.refresh(account, http) == Tokens(credentials=account.credentials)


async def test_too_long_text_is_refused_permanently(account: Account, mastodon: Mastodon, call: MemoryCall) -> None:
    with pytest.raises(StepRefused, match="too long") as raised:
        await mastodon.publish(make_post(account, "x" * 501), call)
    assert raised.value.failure.kind is FailureKind.PERMANENT
    assert call.intents == {}
