"""Telegram in the sandbox: what may have been sent is never sent again."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from postino.outbound.http import OutboundHttp
from postino.providers.telegram import Telegram
from postino.testing.sandbox import SandboxServer
from postino.values.provider import (
    Account,
    Answer,
    Failure,
    FailureKind,
    LostResponse,
    Media,
    NotSent,
    Tokens,
    find_id_scope,
)
from tests.outbound.raw_server import RawServer, Visit
from tests.providers.memory_call import MemoryCall, PersonNeeded, StepRefused, StepUncertain
from tests.providers.proxy import LossyProxy
from tests.providers.samples import make_post


@pytest.fixture
def account(sandbox: SandboxServer) -> Account:
    return sandbox.account("telegram")


@pytest.fixture
def telegram() -> Telegram:
    return Telegram()


@pytest.fixture
def call(outbound: OutboundHttp, telegram: Telegram, account: Account) -> MemoryCall:
    return MemoryCall(outbound, telegram, account)


async def test_text_is_one_message(
    sandbox: SandboxServer, account: Account, telegram: Telegram, call: MemoryCall
) -> None:
    published = await telegram.publish(make_post(account, "Hello"), call)
    [one] = sandbox.published("telegram")
    assert (one["remote_id"], one["text"]) == (published.remote_id, "Hello")
    assert published.url == f"{sandbox.url}/"


@pytest.mark.parametrize(("count", "text"), [(1, "One"), (1, ""), (2, "Two")])
async def test_images_are_sent_with_the_text_as_caption_of_the_first(
    sandbox: SandboxServer,
    account: Account,
    telegram: Telegram,
    call: MemoryCall,
    pictures: tuple[Media, ...],
    count: int,
    text: str,
) -> None:
    await telegram.publish(make_post(account, text, media=pictures[:count]), call)
    [one] = sandbox.published("telegram")
    assert one["text"] == text
    assert len(one["media"]) == count


@pytest.mark.parametrize("known", ["chat_id", "remote_id", "handle"])
async def test_chat_is_found_by_id_or_name(
    sandbox: SandboxServer, account: Account, telegram: Telegram, outbound: OutboundHttp, known: str
) -> None:
    credentials = dict(account.credentials)
    chat = credentials.pop("chat_id")
    ours = replace(
        account,
        credentials=credentials | ({"chat_id": chat} if known == "chat_id" else {}),
        remote_id=account.remote_id if known == "remote_id" else None,
    )
    await telegram.publish(make_post(ours, known), MemoryCall(outbound, telegram, ours))
    assert [one["text"] for one in sandbox.published("telegram")] == [known]


@pytest.mark.parametrize("known", ["number", "name"])
@pytest.mark.parametrize("pictures_count", [0, 2])
async def test_response_says_which_chat_has_the_name(
    account: Account,
    telegram: Telegram,
    outbound: OutboundHttp,
    pictures: tuple[Media, ...],
    known: str,
    pictures_count: int,
) -> None:
    """The name of a deleted channel may go to a new one, which numbers its messages from 1."""
    chat = account.credentials["chat_id"]
    if known == "name":
        account = replace(account, credentials={**account.credentials, "chat_id": f"@{account.handle}"})
    post = make_post(account, "Hello", media=pictures[:pictures_count])
    call = MemoryCall(outbound, telegram, account)
    await telegram.publish(post, call)
    [receipt] = call.receipts.values()
    assert receipt.id_scope == (f"@{account.handle} {chat}" if known == "name" else None)
    assert find_id_scope(telegram, account) == (f"@{account.handle}" if known == "name" else chat)


@pytest.mark.parametrize("fault", ["process_then_drop", "process_then_500", "drop", "truncated", "html"])
async def test_lost_response_is_left_to_a_person_and_not_sent_again(
    sandbox: SandboxServer, account: Account, telegram: Telegram, call: MemoryCall, fault: str
) -> None:
    sandbox.fail("telegram", fault, "sendMessage")
    post = make_post(account, "Hello")
    with pytest.raises(StepUncertain):
        await telegram.publish(post, call)
    for _ in range(2):
        with pytest.raises(PersonNeeded):
            await telegram.publish(post, call)
    assert len(sandbox.published("telegram")) == (0 if fault == "drop" else 1)


async def test_rate_limit_is_respected_until_it_ends(
    sandbox: SandboxServer, account: Account, telegram: Telegram, call: MemoryCall
) -> None:
    sandbox.fail("telegram", "rate_limited", "sendMessage", reset=37)
    with pytest.raises(StepRefused) as raised:
        await telegram.publish(make_post(account, "Hello"), call)
    failure = raised.value.failure
    assert failure.kind is FailureKind.RATE_LIMIT
    assert failure.until is not None
    assert timedelta(seconds=30) < failure.until - datetime.now(UTC) <= timedelta(seconds=38)
    sandbox.reset()
    await telegram.publish(make_post(account, "Hello"), call)


async def test_thread_is_refused_before_anything_is_sent(
    account: Account, telegram: Telegram, call: MemoryCall
) -> None:
    with pytest.raises(StepRefused, match="Telegram has no threads") as raised:
        await telegram.publish(make_post(account, "one", "two"), call)
    assert raised.value.failure.kind is FailureKind.PERMANENT
    assert call.sent == 0


@pytest.mark.parametrize(
    ("text", "media", "message"),
    [("x" * 4097, 0, "text is too long"), ("x" * 1025, 1, "caption is too long"), ("", 0, "needs text")],
)
async def test_telegram_refusal_has_a_clear_message(
    account: Account,
    telegram: Telegram,
    call: MemoryCall,
    pictures: tuple[Media, ...],
    text: str,
    media: int,
    message: str,
) -> None:
    with pytest.raises(StepRefused, match=message) as raised:
        await telegram.publish(make_post(account, text, media=pictures[:media]), call)
    assert raised.value.failure.kind is FailureKind.PERMANENT


async def test_removed_bot_has_a_clear_message(
    sandbox: SandboxServer, account: Account, telegram: Telegram, call: MemoryCall
) -> None:
    sandbox.post(f"accounts/telegram/{account.handle}", {"blocked": True})
    with pytest.raises(StepRefused, match="Make it an administrator") as raised:
        await telegram.publish(make_post(account, "Hello"), call)
    assert raised.value.failure.kind is FailureKind.SUSPENDED


@pytest.mark.parametrize("token", ["123:wrong", ""])
async def test_unknown_bot_token_asks_to_reconnect(
    account: Account, telegram: Telegram, outbound: OutboundHttp, token: str
) -> None:
    ours = replace(account, credentials=dict(account.credentials) | {"bot_token": token})
    with pytest.raises(StepRefused, match="reconnect") as raised:
        await telegram.publish(make_post(ours, "Hello"), MemoryCall(outbound, telegram, ours))
    assert raised.value.failure.kind is FailureKind.AUTH
    http = outbound.open(timeout=telegram.timeout, visible=False)
    assert isinstance(await telegram.refresh(ours, http), Failure)
    assert await telegram.refresh(account, http) == Tokens(credentials=account.credentials)


async def test_media_is_downloaded_before_the_message_is_sent(
    sandbox: SandboxServer, account: Account, telegram: Telegram, call: MemoryCall, picture_host: str
) -> None:
    async with (
        LossyProxy(int(picture_host.rpartition(":")[2])) as proxy,
        OutboundHttp(allowed_origins=[proxy.url]) as outbound,
    ):
        ours = MemoryCall(outbound, telegram, account)
        post = make_post(account, "Hello", media=(Media(url=f"{proxy.url}/1"),))
        await telegram.publish(post, ours)
        assert proxy.request_counts["/1"] == 1

        again = MemoryCall(outbound, telegram, account, steps=dict(ours.steps))  # as after a restart
        proxy.lose("answer", "/1")
        with pytest.raises(LostResponse):
            await telegram.publish(replace(post, parts=("Again",)), again)
        assert again.sent == 0
        await telegram.publish(replace(post, parts=("Again",)), again)
    assert [one["text"] for one in sandbox.published("telegram")] == ["Hello", "Again"]


async def test_album_that_was_not_sent_completely_is_in_no_doubt(
    account: Account, telegram: Telegram, outbound: OutboundHttp, picture_host: str
) -> None:
    """On a line that stalls in the middle of an album, Telegram never has the whole request."""

    async def stall(visit: Visit) -> None:
        await visit.reader.readuntil(b"\r\n\r\n")
        await asyncio.Event().wait()

    telegram.timeout = timedelta(seconds=0.5)
    media = tuple(Media(url=f"{picture_host}/{size}x900") for size in (900, 901))
    async with RawServer(stall, receive_buffer=16_384) as server:
        ours = replace(account, base_url=server.url)
        call = MemoryCall(outbound, telegram, ours)
        with pytest.raises(NotSent, match="not sent completely"):
            await telegram.publish(make_post(ours, "Album", media=media), call)
    assert (server.connections, call.intents) == (1, {})


async def test_bot_token_in_the_url_appears_nowhere(
    account: Account, telegram: Telegram, outbound: OutboundHttp
) -> None:
    nowhere = replace(account, base_url="http://127.0.0.1:9")
    with pytest.raises(NotSent) as raised:
        await telegram.publish(make_post(nowhere, "Hello"), MemoryCall(outbound, telegram, nowhere))
    assert account.credentials["bot_token"].partition(":")[2] not in str(raised.value)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429])
def test_response_not_from_telegram_is_uncertain(telegram: Telegram, status: int) -> None:
    """A proxy may have responded after the message was sent."""
    assert telegram.classify(Answer(status, {}, b"<html>no</html>")).kind is FailureKind.DOUBT
