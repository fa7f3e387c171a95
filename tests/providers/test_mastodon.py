"""Mastodon, on somebody else's server: the key and the list together make one post of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from postino.outbound.http import OutboundHttp
from postino.providers.mastodon import CLOCK_ALLOWANCE, Mastodon, Status
from postino.values.provider import (
    Account,
    CannotTell,
    Failure,
    FailureKind,
    Found,
    Intent,
    LookupResult,
    Media,
    NoResponse,
    NotFound,
    Tokens,
)
from tests.providers.memory_call import MemoryCall, PersonNeeded, StepRefused, StepUncertain, publish_until_done
from tests.providers.proxy import LossyProxy
from tests.providers.samples import a_post
from tests.servers.mastodon import TOKEN, MastodonServer

pytestmark = pytest.mark.slow  # the server takes some seconds to start

POST = "POST /api/v1/statuses"


@pytest.fixture
def account(wire_to_mastodon: LossyProxy) -> Account:
    return Account(
        id="ours", network="mastodon", handle="me", base_url=wire_to_mastodon.url, credentials={"access_token": TOKEN}
    )


@pytest.fixture
def mastodon() -> Mastodon:
    return Mastodon()


@pytest.fixture
def call(outbound: OutboundHttp, mastodon: Mastodon, account: Account) -> MemoryCall:
    return MemoryCall(outbound, mastodon, account)


@pytest.fixture
def text() -> str:
    """Words nobody else has posted."""
    return f"Grüße & <3 an @friend@example.com #{uuid4().hex}\n\nhttps://example.com/{uuid4().hex}/a/long/way/to/go?b=1"


def posted(server: MastodonServer, text: str) -> list[str]:
    """Oldest first."""
    names = [str(status["id"]) for status in reversed(server.statuses())]
    return [name for name in names if server.get(f"/api/v1/statuses/{name}/source")["text"] == text]


# --- What is published


async def test_a_text_is_published(
    mastodon_server: MastodonServer, account: Account, mastodon: Mastodon, call: MemoryCall, text: str
) -> None:
    published = await mastodon.publish(a_post(account, text, visibility="unlisted", unknown="ignored"), call)
    assert posted(mastodon_server, text) == [published.remote_id]
    status = mastodon_server.get(f"/api/v1/statuses/{published.remote_id}")
    assert status["visibility"] == "unlisted"
    assert published.url == status["url"]


async def test_pictures_are_shown_with_their_descriptions(
    mastodon_server: MastodonServer,
    account: Account,
    mastodon: Mastodon,
    call: MemoryCall,
    text: str,
    pictures: tuple[Media, ...],
) -> None:
    published = await mastodon.publish(a_post(account, text, media=pictures), call)
    status = mastodon_server.get(f"/api/v1/statuses/{published.remote_id}")
    assert [media["description"] for media in status["media_attachments"]] == ["shade 1", "shade 2"]


async def test_a_thread_is_a_chain_of_replies(
    mastodon_server: MastodonServer, account: Account, mastodon: Mastodon, call: MemoryCall, text: str
) -> None:
    published = await mastodon.publish(a_post(account, text, f"{text} 2", f"{text} 3"), call)
    [second] = posted(mastodon_server, f"{text} 2")
    [third] = posted(mastodon_server, f"{text} 3")
    replies = [mastodon_server.get(f"/api/v1/statuses/{name}")["in_reply_to_id"] for name in (second, third)]
    assert replies == [published.remote_id, second]


# --- Never twice


@pytest.mark.parametrize("known", [True, False])
async def test_a_lost_answer_leaves_one_post_found_in_the_list(
    mastodon_server: MastodonServer,
    account: Account,
    mastodon: Mastodon,
    call: MemoryCall,
    text: str,
    wire_to_mastodon: LossyProxy,
    known: bool,
) -> None:
    me = mastodon_server.get("/api/v1/accounts/verify_credentials")["id"]
    post = a_post(replace(account, remote_id=me if known else None), text, f"{text} 2")
    wire_to_mastodon.lose("answer", POST)
    with pytest.raises(StepUncertain):
        await mastodon.publish(post, call)
    published = await publish_until_done(mastodon, post, call)
    assert posted(mastodon_server, text) == [published.remote_id]
    assert len(posted(mastodon_server, f"{text} 2")) == 1
    assert [type(sighting) for sighting in call.sightings] == [Found]


async def test_a_lost_request_is_sent_again(
    mastodon_server: MastodonServer,
    account: Account,
    mastodon: Mastodon,
    call: MemoryCall,
    text: str,
    wire_to_mastodon: LossyProxy,
) -> None:
    wire_to_mastodon.lose("request", POST)
    published = await publish_until_done(mastodon, a_post(account, text), call)
    assert posted(mastodon_server, text) == [published.remote_id]
    assert [type(sighting) for sighting in call.sightings] == [NotFound]


async def test_the_key_stops_a_repetition_even_when_the_list_does_not_show_the_post(
    mastodon_server: MastodonServer, account: Account, mastodon: Mastodon, outbound: OutboundHttp, text: str
) -> None:
    post = a_post(account, text)
    published = [await mastodon.publish(post, MemoryCall(outbound, mastodon, account)) for _ in range(2)]
    assert [one.remote_id for one in published] == posted(mastodon_server, text) * 2


async def test_after_the_hour_of_the_key_a_person_is_asked(
    account: Account, mastodon: Mastodon, call: MemoryCall, text: str, wire_to_mastodon: LossyProxy
) -> None:
    wire_to_mastodon.lose("request", POST)
    post = a_post(account, text)
    with pytest.raises(StepUncertain):
        await mastodon.publish(post, call)
    [(name, intent)] = call.intents.items()
    call.intents[name] = replace(intent, intended_at=intent.intended_at - timedelta(minutes=51))
    with pytest.raises(PersonNeeded, match="knows its key"):
        await mastodon.publish(post, call)


# --- What is taken for ours


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


async def say(
    mastodon: Mastodon, outbound: OutboundHttp, account: Account, *parts: str, media: tuple[Media, ...] = ()
) -> str:
    """As somebody would by hand, or another job."""
    post = a_post(account, *parts, media=media)
    return (await mastodon.publish(post, MemoryCall(outbound, mastodon, account))).remote_id


async def test_the_same_words_said_before_the_intent_are_not_taken_for_ours(
    mastodon: Mastodon, call: MemoryCall, outbound: OutboundHttp, status: Status
) -> None:
    await say(mastodon, outbound, status.account, status.text)
    later = datetime.now(UTC) + CLOCK_ALLOWANCE + timedelta(seconds=1)
    assert await find(mastodon, call, status, later) == NotFound()


async def test_a_server_whose_clock_is_a_little_behind_is_still_believed(
    mastodon: Mastodon, call: MemoryCall, outbound: OutboundHttp, status: Status
) -> None:
    name = await say(mastodon, outbound, status.account, status.text)
    sighting = await find(mastodon, call, status, datetime.now(UTC) + CLOCK_ALLOWANCE / 2)
    assert isinstance(sighting, Found)
    assert sighting.receipt.remote_id == name


async def test_what_belongs_to_another_job_is_not_taken(
    mastodon: Mastodon, call: MemoryCall, outbound: OutboundHttp, status: Status
) -> None:
    call.others.add(await say(mastodon, outbound, status.account, status.text))
    assert await find(mastodon, call, status) == NotFound()
    name = await say(mastodon, outbound, status.account, status.text)
    sighting = await find(mastodon, call, status)
    assert isinstance(sighting, Found)
    assert sighting.receipt.remote_id == name


async def test_of_several_that_fit_none_is_chosen(
    mastodon: Mastodon, call: MemoryCall, outbound: OutboundHttp, status: Status
) -> None:
    for _ in range(2):
        await say(mastodon, outbound, status.account, status.text)
    assert isinstance(await find(mastodon, call, status), CannotTell)


async def test_what_differs_in_words_files_or_place_is_not_ours(
    mastodon: Mastodon, call: MemoryCall, outbound: OutboundHttp, status: Status, pictures: tuple[Media, ...]
) -> None:
    first = await say(mastodon, outbound, status.account, f"{status.text}!", status.text)  # ours is no reply
    await say(mastodon, outbound, status.account, status.text, media=pictures[:1])
    assert await find(mastodon, call, status) == NotFound()
    assert isinstance(await find(mastodon, call, replace(status, reply_to=first)), Found)
    assert isinstance(await find(mastodon, call, replace(status, media=("one",))), Found)


async def test_ours_is_found_below_a_page_of_others(
    mastodon: Mastodon, call: MemoryCall, outbound: OutboundHttp, status: Status, text: str
) -> None:
    name = await say(mastodon, outbound, status.account, text)
    await say(mastodon, outbound, status.account, *(f"{text} {number}" for number in range(41)))
    sighting = await find(mastodon, call, status, datetime.now(UTC) - timedelta(seconds=30))
    assert isinstance(sighting, Found)
    assert sighting.receipt.remote_id == name


async def test_a_list_that_fails_says_nothing_about_the_post(
    mastodon: Mastodon, call: MemoryCall, status: Status, wire_to_mastodon: LossyProxy
) -> None:
    assert isinstance(await find(mastodon, call, replace(status, account_id="0")), Failure)
    wire_to_mastodon.lose("answer", "/statuses?")
    with pytest.raises(NoResponse):
        await find(mastodon, call, status)


# --- Refusals


async def test_a_token_that_was_withdrawn_asks_for_a_reconnect(
    account: Account, mastodon: Mastodon, outbound: OutboundHttp, text: str
) -> None:
    ours = replace(account, credentials={"access_token": "withdrawn"})
    with pytest.raises(StepRefused, match="Reconnect") as raised:
        await mastodon.publish(a_post(ours, text), MemoryCall(outbound, mastodon, ours))
    assert raised.value.failure.kind is FailureKind.AUTH
    http = outbound.open(timeout=mastodon.timeout, visible=False)
    assert isinstance(await mastodon.refresh(ours, http), Failure)
    assert await mastodon.refresh(account, http) == Tokens(credentials=account.credentials)


async def test_what_is_too_long_is_refused_for_good_in_plain_words(
    account: Account, mastodon: Mastodon, call: MemoryCall
) -> None:
    with pytest.raises(StepRefused, match="too long") as raised:
        await mastodon.publish(a_post(account, "x" * 501), call)
    assert raised.value.failure.kind is FailureKind.PERMANENT
    assert call.intents == {}
