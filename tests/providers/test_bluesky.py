"""Bluesky on its real server: whichever message is lost, there is one record."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from postino.outbound.http import OutboundHttp
from postino.providers.bluesky import Bluesky
from postino.values.provider import (
    Account,
    CannotTell,
    Failure,
    FailureKind,
    Found,
    Media,
    NotFound,
    NotSent,
    Receipt,
    Tokens,
)
from tests.providers.memory_call import MemoryCall, PersonNeeded, StepRefused, StepUncertain, publish_until_done
from tests.providers.proxy import LossyProxy
from tests.providers.samples import make_post
from tests.servers.pds import PdsServer, Person

pytestmark = pytest.mark.slow  # the server takes some seconds to start

PUT = "com.atproto.repo.putRecord"
GET = "com.atproto.repo.getRecord"
LOGIN = "com.atproto.server.createSession"


@pytest.fixture
def person(pds: PdsServer) -> Person:
    return pds.sign_up()


@pytest.fixture
def account(person: Person, proxy_to_pds: LossyProxy) -> Account:
    return Account(
        id="ours",
        network="bluesky",
        handle=person.handle,
        base_url=proxy_to_pds.url,
        remote_id=person.did,
        credentials={"identifier": person.handle, "password": person.password},
    )


@pytest.fixture
def bluesky() -> Bluesky:
    return Bluesky()


@pytest.fixture
def call(outbound: OutboundHttp, bluesky: Bluesky, account: Account) -> MemoryCall:
    return MemoryCall(outbound, bluesky, account)


def texts(pds: PdsServer, person: Person) -> list[str]:
    return [record["value"]["text"] for record in pds.list_records(person)]


# --- What is published


async def test_text_becomes_a_record_with_links_tags_and_mentions(
    pds: PdsServer, person: Person, account: Account, bluesky: Bluesky, call: MemoryCall
) -> None:
    friend = pds.sign_up()
    text = f"Grüße 👋 an @{friend.handle} und @nobody.test: https://example.com/ä?b=1. #Grüße"
    published = await bluesky.publish(make_post(account, text), call)
    [record] = pds.list_records(person)
    assert published.remote_id == record["uri"]
    assert published.url is not None
    assert record["value"]["text"] == text
    features = {
        text.encode()[it["index"]["byteStart"] : it["index"]["byteEnd"]].decode(): it["features"][0]
        for it in record["value"]["facets"]
    }
    assert features == {
        f"@{friend.handle}": {"$type": "app.bsky.richtext.facet#mention", "did": friend.did},
        "https://example.com/ä?b=1": {"$type": "app.bsky.richtext.facet#link", "uri": "https://example.com/ä?b=1"},
        "#Grüße": {"$type": "app.bsky.richtext.facet#tag", "tag": "Grüße"},
    }


async def test_images_are_published_with_alt_texts(
    pds: PdsServer, person: Person, account: Account, bluesky: Bluesky, call: MemoryCall, pictures: tuple[Media, ...]
) -> None:
    await bluesky.publish(make_post(account, "Two", media=pictures), call)
    [record] = pds.list_records(person)
    images = record["value"]["embed"]["images"]
    assert [image["alt"] for image in images] == ["shade 1", "shade 2"]
    assert {image["image"]["mimeType"] for image in images} == {"image/png"}


async def test_thread_is_a_chain_of_replies(
    pds: PdsServer, person: Person, account: Account, bluesky: Bluesky, call: MemoryCall
) -> None:
    published = await bluesky.publish(make_post(account, "one", "two", "three"), call)
    by_text = {record["value"]["text"]: record for record in pds.list_records(person)}
    assert published.remote_id == by_text["one"]["uri"]
    named = {text: {"uri": record["uri"], "cid": record["cid"]} for text, record in by_text.items()}
    assert "reply" not in by_text["one"]["value"]
    assert by_text["two"]["value"]["reply"] == {"root": named["one"], "parent": named["one"]}
    assert by_text["three"]["value"]["reply"] == {"root": named["one"], "parent": named["two"]}


async def test_thread_continues_after_a_post_found_by_a_person(
    pds: PdsServer, person: Person, account: Account, bluesky: Bluesky, call: MemoryCall
) -> None:
    post = make_post(account, "one")
    first = await bluesky.publish(post, call)
    thread = replace(post, parts=("one", "two"))
    call.receipts["post 1"] = Receipt(remote_id=first.remote_id)  # a person knows no cid
    await bluesky.publish(thread, call)
    replies = [record["value"]["reply"] for record in pds.list_records(person) if "reply" in record["value"]]
    assert [reply["parent"]["uri"] for reply in replies] == [first.remote_id]


async def test_stored_step_results_contain_no_secret(
    account: Account, bluesky: Bluesky, call: MemoryCall, person: Person, pictures: tuple[Media, ...]
) -> None:
    await bluesky.publish(make_post(account, "one", "two", media=pictures), call)
    remembered = json.dumps([call.steps, [dict(receipt.data) for receipt in call.receipts.values()]])
    assert set(call.steps) == {"media 1", "media 2", "record 1", "record 2"}
    assert "eyJ" not in remembered  # as every token begins
    assert person.password not in remembered
    assert "eyJ" not in repr(bluesky._sessions)


# --- Never twice


@pytest.mark.parametrize("part", [1, 2, 3])
async def test_lost_response_leaves_one_record_found_by_its_key(
    pds: PdsServer,
    person: Person,
    account: Account,
    bluesky: Bluesky,
    call: MemoryCall,
    proxy_to_pds: LossyProxy,
    part: int,
) -> None:
    post = make_post(account, "one", "two", "three")
    if part > 1:
        await bluesky.publish(replace(post, parts=post.parts[: part - 1]), call)
    proxy_to_pds.lose("answer", PUT)
    with pytest.raises(StepUncertain):
        await bluesky.publish(post, call)
    await publish_until_done(bluesky, post, call)
    assert sorted(texts(pds, person)) == ["one", "three", "two"]
    assert [type(lookup_result) for lookup_result in call.lookup_results] == [Found]
    assert call.sent == 3


async def test_lost_request_is_sent_again_with_the_same_key(
    pds: PdsServer, person: Person, account: Account, bluesky: Bluesky, call: MemoryCall, proxy_to_pds: LossyProxy
) -> None:
    proxy_to_pds.lose("request", PUT)
    published = await publish_until_done(bluesky, make_post(account, "one"), call)
    assert [type(lookup_result) for lookup_result in call.lookup_results] == [NotFound]
    assert [record["uri"] for record in pds.list_records(person)] == [published.remote_id]


@pytest.mark.parametrize("lost", ["steps", "steps and intents"])
async def test_record_composed_again_after_a_rollback_is_recognised(
    pds: PdsServer,
    person: Person,
    account: Account,
    bluesky: Bluesky,
    call: MemoryCall,
    proxy_to_pds: LossyProxy,
    pictures: tuple[Media, ...],
    lost: str,
) -> None:
    """A restored database does not have the stored record, so it is composed again with another `createdAt`."""
    post = make_post(account, "one #tag", "two", media=pictures)
    proxy_to_pds.lose("answer", PUT)
    with pytest.raises(StepUncertain):
        await bluesky.publish(post, call)
    call.steps.clear()
    if lost != "steps":
        call.intents.clear()
    await publish_until_done(bluesky, post, call)
    assert texts(pds, person) in (["one #tag", "two"], ["two", "one #tag"])
    assert [type(lookup_result) for lookup_result in call.lookup_results] == [Found]


async def test_two_concurrent_runs_create_one_record(
    pds: PdsServer, person: Person, account: Account, bluesky: Bluesky, outbound: OutboundHttp
) -> None:
    post = make_post(account, "one")
    first = MemoryCall(outbound, bluesky, account)
    await first.step("record 1", bluesky.compose, account, "one", [], [])
    calls = [MemoryCall(outbound, bluesky, account, steps=dict(first.steps)) for _ in range(10)]
    published = await asyncio.gather(*(bluesky.publish(post, call) for call in calls))
    assert len({one.remote_id for one in published}) == 1
    assert texts(pds, person) == ["one"]


async def test_different_record_with_our_key_is_kept_and_a_person_decides(
    pds: PdsServer, person: Person, account: Account, bluesky: Bluesky, outbound: OutboundHttp
) -> None:
    post = make_post(account, "one")
    await bluesky.publish(post, MemoryCall(outbound, bluesky, account))
    edited = MemoryCall(outbound, bluesky, account)
    with pytest.raises(StepUncertain, match="already has a record"):
        await bluesky.publish(replace(post, parts=("two",)), edited)
    with pytest.raises(PersonNeeded, match="different record"):
        await bluesky.publish(replace(post, parts=("two",)), edited)
    assert isinstance(edited.lookup_results[0], CannotTell)
    assert texts(pds, person) == ["one"]


async def test_deleted_blobs_are_uploaded_again(
    pds: PdsServer,
    account: Account,
    bluesky: Bluesky,
    call: MemoryCall,
    outbound: OutboundHttp,
    pictures: tuple[Media, ...],
) -> None:
    await call.step("media 1", bluesky.upload, account, pictures[0])
    other = pds.sign_up()  # who has never uploaded it
    other_account = replace(
        account, credentials={"identifier": other.handle, "password": other.password}, remote_id=other.did
    )
    waiting = MemoryCall(outbound, bluesky, other_account, steps=dict(call.steps))
    await bluesky.publish(make_post(other_account, "late", media=pictures[:1]), waiting)
    assert texts(pds, other) == ["late"]


@pytest.mark.parametrize(("age", "uploads"), [(timedelta(minutes=59), 0), (timedelta(hours=1), 2)])
async def test_files_of_an_old_record_are_uploaded_again_before_it_is_sent(
    account: Account,
    call: MemoryCall,
    outbound: OutboundHttp,
    proxy_to_pds: LossyProxy,
    pictures: tuple[Media, ...],
    age: timedelta,
    uploads: int,
) -> None:
    """Bluesky may have deleted them, and the time in which a visible call must begin is short."""
    clock = [datetime.now(UTC)]
    bluesky = Bluesky(now=lambda: clock[0])
    post = make_post(account, "late", media=pictures)
    proxy_to_pds.lose("request", "com.atproto.repo.putRecord")
    with pytest.raises(StepUncertain):
        await bluesky.publish(post, call)
    before = proxy_to_pds.request_counts["/xrpc/com.atproto.repo.uploadBlob"]
    clock[0] += age
    await bluesky.publish(post, call)
    assert proxy_to_pds.request_counts["/xrpc/com.atproto.repo.uploadBlob"] - before == uploads
    assert call.sent == 2


# --- Signing in


async def test_all_steps_share_one_session(
    account: Account, bluesky: Bluesky, call: MemoryCall, proxy_to_pds: LossyProxy, pictures: tuple[Media, ...]
) -> None:
    for _ in range(2):
        call.steps.clear()
        call.receipts.clear()
        await bluesky.publish(make_post(account, "one", "two", media=pictures), call)
    assert proxy_to_pds.request_counts[f"/xrpc/{LOGIN}"] == 1


@pytest.mark.parametrize("loss", ["request", "answer"])
async def test_lost_sign_in_response_leaves_no_uncertainty(
    pds: PdsServer,
    person: Person,
    account: Account,
    bluesky: Bluesky,
    call: MemoryCall,
    proxy_to_pds: LossyProxy,
    loss: Any,
) -> None:
    post = make_post(account, "one")
    call.steps["record 1"] = json.dumps(await bluesky.compose(call.open(visible=False), account, "one", [], []))
    proxy_to_pds.lose(loss, LOGIN)
    with pytest.raises(NotSent, match="signing in to Bluesky failed"):
        await bluesky.publish(post, call)
    await bluesky.publish(post, call)
    assert call.lookup_results == []
    assert texts(pds, person) == ["one"]


async def test_wrong_password_asks_to_reconnect(account: Account, bluesky: Bluesky, outbound: OutboundHttp) -> None:
    wrong = replace(account, credentials=dict(account.credentials) | {"password": "wrong"})
    with pytest.raises(StepRefused, match=r"(?i)reconnect") as raised:
        await bluesky.publish(make_post(wrong, "one"), MemoryCall(outbound, bluesky, wrong))
    assert raised.value.failure.kind is FailureKind.AUTH
    assert isinstance(await bluesky.refresh(wrong, outbound.open(timeout=bluesky.timeout, visible=True)), Failure)


async def test_session_ends_when_password_is_replaced(
    account: Account, bluesky: Bluesky, call: MemoryCall, outbound: OutboundHttp
) -> None:
    await bluesky.publish(make_post(account, "one"), call)
    wrong = replace(account, credentials=dict(account.credentials) | {"password": "wrong"})
    with pytest.raises(StepRefused):
        await bluesky.publish(make_post(wrong, "two"), MemoryCall(outbound, bluesky, wrong))


async def test_account_with_tokens_publishes_and_renews_them(
    pds: PdsServer, person: Person, account: Account, bluesky: Bluesky, outbound: OutboundHttp
) -> None:
    tokens = {"access_token": person.access_token, "refresh_token": person.refresh_token}
    ours = replace(account, credentials=tokens, remote_id=None)
    await bluesky.publish(make_post(ours, "one"), MemoryCall(outbound, bluesky, ours))
    renewed = await bluesky.refresh(ours, outbound.open(timeout=bluesky.timeout, visible=True))
    assert isinstance(renewed, Tokens)
    assert renewed.expires_at is not None
    assert renewed.expires_at > datetime.now(UTC)
    assert person.access_token not in repr(renewed)
    fresh = replace(ours, credentials=renewed.credentials)
    await bluesky.publish(make_post(fresh, "two"), MemoryCall(outbound, bluesky, fresh))
    assert sorted(texts(pds, person)) == ["one", "two"]


@pytest.mark.parametrize("token", ["nonsense", "a.b.c", ""])
async def test_unknown_token_asks_to_reconnect(
    account: Account, bluesky: Bluesky, outbound: OutboundHttp, token: str
) -> None:
    ours = replace(account, credentials={"access_token": token, "refresh_token": token})
    with pytest.raises(StepRefused, match=r"(?i)reconnect") as raised:
        await bluesky.publish(make_post(ours, "one"), MemoryCall(outbound, bluesky, ours))
    assert raised.value.failure.kind is FailureKind.AUTH
    assert isinstance(await bluesky.refresh(ours, outbound.open(timeout=bluesky.timeout, visible=True)), Failure)


# --- Refusals


@pytest.mark.parametrize("text", ["x" * 301, "👨‍👩‍👧" * 300])
async def test_too_long_text_is_refused_permanently(
    account: Account, bluesky: Bluesky, call: MemoryCall, text: str
) -> None:
    with pytest.raises(StepRefused, match="too long for Bluesky") as raised:
        await bluesky.publish(make_post(account, text), call)
    assert raised.value.failure.kind is FailureKind.PERMANENT
    assert call.intents == {}


@pytest.mark.parametrize(
    ("name", "message"), [("1100x1100", "too large"), ("2600x2600", "too large"), ("film", "this type of file")]
)
async def test_unsupported_image_is_refused_with_a_clear_message(
    pds: PdsServer, account: Account, bluesky: Bluesky, call: MemoryCall, picture_host: str, name: str, message: str
) -> None:
    directly = replace(account, base_url=pds.url)
    with pytest.raises(StepRefused, match=message) as raised:
        await bluesky.publish(make_post(directly, "one", media=(Media(url=f"{picture_host}/{name}"),)), call)
    assert raised.value.failure.kind is FailureKind.PERMANENT


async def test_video_is_published(
    pds: PdsServer, person: Person, account: Account, bluesky: Bluesky, call: MemoryCall, picture_host: str
) -> None:
    film = Media(url=f"{picture_host}/film", kind="video", alt="A walk")
    await bluesky.publish(make_post(account, "Look", media=(film,)), call)
    [record] = pds.list_records(person)
    assert record["value"]["embed"]["alt"] == "A walk"
    assert record["value"]["embed"]["video"]["mimeType"] == "video/mp4"


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("missing", FailureKind.PERMANENT, "does not exist any more"),
        ("page", FailureKind.PERMANENT, "Choose another image"),
        ("broken", FailureKind.TRANSIENT, "tries again"),
    ],
)
async def test_failed_download_is_reported_before_anything_is_sent(
    account: Account, bluesky: Bluesky, call: MemoryCall, picture_host: str, name: str, kind: FailureKind, message: str
) -> None:
    with pytest.raises(StepRefused, match=message) as raised:
        await bluesky.publish(make_post(account, "one", media=(Media(url=f"{picture_host}/{name}"),)), call)
    assert raised.value.failure.kind is kind
    assert call.sent == 0


async def test_image_from_private_address_is_refused(
    pds: PdsServer, account: Account, bluesky: Bluesky, call: MemoryCall
) -> None:
    with pytest.raises(StepRefused, match="this machine or a private network") as raised:
        await bluesky.publish(make_post(account, "one", media=(Media(url=f"{pds.url}/xrpc/_health"),)), call)
    assert raised.value.failure.kind is FailureKind.PERMANENT


async def test_too_many_images_are_refused_with_a_clear_message(
    account: Account, bluesky: Bluesky, call: MemoryCall, pictures: tuple[Media, ...]
) -> None:
    with pytest.raises(StepRefused, match="too many images"):
        await bluesky.publish(make_post(account, "one", media=pictures * 3), call)
