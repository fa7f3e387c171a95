"""Telegram in the sandbox: a bot sends messages and cannot read them."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest

from tests.sandbox.sandbox_client import SandboxClient, SandboxResponse
from tests.sandbox.scripted_calls import IMAGE


class Bot:
    def __init__(self, sandbox: SandboxClient, account: dict[str, Any]) -> None:
        self.sandbox = sandbox
        self.account = account
        self.token = account["credentials"]["bot_token"]
        self.chat = account["credentials"]["chat_id"]

    async def call(self, name: str, **body: Any) -> SandboxResponse:
        return await self.sandbox.post(f"/telegram/bot{self.token}/{name}", {"chat_id": self.chat, **body})

    async def get_refusal(self, name: str, **body: Any) -> str:
        response = await self.call(name, **body)
        assert (response.status, response.json["ok"], response.json["error_code"]) == (400, False, 400), response.text
        return str(response.json["description"])


@pytest.fixture
async def our_bot(sandbox: SandboxClient) -> Bot:
    return Bot(sandbox, await sandbox.account("telegram"))


async def test_message_ids_are_consecutive_in_a_chat(our_bot: Bot) -> None:
    responses = [await our_bot.call("sendMessage", text=f"number {number}") for number in range(3)]
    assert [it.json["result"]["message_id"] for it in responses] == [1, 2, 3]
    assert responses[0].json["result"]["chat"]["id"] == int(our_bot.chat)
    other = Bot(our_bot.sandbox, await our_bot.sandbox.account("telegram"))
    assert (await other.call("sendMessage", text="x")).json["result"]["message_id"] == 1
    result = await our_bot.sandbox.list_published()
    assert [it["account"] for it in result] == [our_bot.account["handle"]] * 3 + [other.account["handle"]]
    assert [it["remote_id"] for it in result] == ["1", "2", "3", "1"]


async def test_form_and_query_are_accepted_like_json(our_bot: Bot) -> None:
    path = f"/telegram/bot{our_bot.token}/sendMessage"
    form = {"chat_id": our_bot.chat, "text": "by form"}
    assert (await our_bot.sandbox.call("POST", path, data=form)).status == 200
    assert (await our_bot.sandbox.get(path, params=form | {"text": "by address"})).status == 200
    assert [it["text"] for it in await our_bot.sandbox.list_published()] == ["by form", "by address"]


async def test_markup_is_not_part_of_the_text(our_bot: Bot) -> None:
    await our_bot.call(
        "sendMessage", text='<b>Bold</b> &amp; <a href="https://a.example">linked</a>', parse_mode="HTML"
    )
    assert [it["text"] for it in await our_bot.sandbox.list_published()] == ["Bold & linked"]
    assert "can't parse entities" in await our_bot.get_refusal("sendMessage", text="<b>open", parse_mode="HTML")
    assert "can't parse entities" in await our_bot.get_refusal("sendMessage", text="1 < 2", parse_mode="HTML")
    assert "unsupported parse_mode" in await our_bot.get_refusal("sendMessage", text="x", parse_mode="LaTeX")


async def test_texts_and_captions_have_a_maximum_length(our_bot: Bot) -> None:
    photo = f"{our_bot.sandbox.url}/_sandbox/media/sample.jpg"
    assert (await our_bot.call("sendMessage", text="x" * 4096)).status == 200
    assert await our_bot.get_refusal("sendMessage", text="x" * 4097) == "Bad Request: message is too long"
    assert await our_bot.get_refusal("sendMessage", text=" ") == "Bad Request: message text is empty"
    assert (
        await our_bot.get_refusal("sendPhoto", photo=photo, caption="x" * 1025)
        == "Bad Request: message caption is too long"
    )


async def test_photo_is_sent_by_url_file_or_earlier_id(our_bot: Bot) -> None:
    fetched = await our_bot.call(
        "sendPhoto", photo=f"{our_bot.sandbox.url}/_sandbox/media/sample.jpg", caption="fetched"
    )
    again = await our_bot.call("sendPhoto", photo=fetched.json["result"]["photo"][0]["file_id"])
    assert again.status == 200
    form = aiohttp.FormData({"chat_id": our_bot.chat, "caption": "sent"})
    form.add_field("photo", IMAGE, filename="a.jpg", content_type="image/jpeg")
    assert (await our_bot.sandbox.call("POST", f"/telegram/bot{our_bot.token}/sendPhoto", data=form)).status == 200
    result = await our_bot.sandbox.list_published()
    assert [(it["text"], len(it["media"])) for it in result] == [("fetched", 1), ("", 1), ("sent", 1)]
    assert result[0]["media"] == result[1]["media"]


async def test_unavailable_photos_are_refused(our_bot: Bot) -> None:
    missing = f"{our_bot.sandbox.url}/_sandbox/media/missing.jpg"
    assert "failed to get HTTP URL content" in await our_bot.get_refusal("sendPhoto", photo=missing)
    assert "wrong file identifier" in await our_bot.get_refusal("sendPhoto", photo="nonsense")
    assert "IMAGE_PROCESS_FAILED" in await our_bot.get_refusal("sendPhoto", photo=f"{our_bot.sandbox.url}/")


async def test_urls_of_other_machines_are_accepted_and_never_requested(our_bot: Bot) -> None:
    address = "https://pictures.invalid/view.png"
    assert (await our_bot.call("sendPhoto", photo=address)).status == 200
    assert (await our_bot.sandbox.list_published())[0]["media"] == [{"url": address, "mime": "image/png"}]


async def test_album_is_published_as_one_post(our_bot: Bot) -> None:
    form = aiohttp.FormData({"chat_id": our_bot.chat})
    items = [
        {"type": "photo", "media": "attach://first", "caption": "two views"},
        {"type": "photo", "media": f"{our_bot.sandbox.url}/_sandbox/media/sample.png"},
    ]
    form.add_field("media", json.dumps(items))
    form.add_field("first", IMAGE, filename="a.jpg", content_type="image/jpeg")
    response = await our_bot.sandbox.call("POST", f"/telegram/bot{our_bot.token}/sendMediaGroup", data=form)
    assert [it["message_id"] for it in response.json["result"]] == [1, 2]
    [result] = await our_bot.sandbox.list_published()
    assert (result["remote_id"], result["text"], len(result["media"])) == ("1", "two views", 2)


@pytest.mark.parametrize("media", [[], [{"type": "photo"}], "nonsense", [{"type": "song"}, {"type": "song"}]])
async def test_invalid_album_is_refused(our_bot: Bot, media: Any) -> None:
    assert await our_bot.get_refusal("sendMediaGroup", media=media)


async def test_reply_needs_an_existing_message(our_bot: Bot) -> None:
    await our_bot.call("sendMessage", text="one")
    response = await our_bot.call("sendMessage", text="two", reply_parameters={"message_id": 1})
    assert response.json["result"]["reply_to_message"] == {"message_id": 1}
    assert (await our_bot.sandbox.list_published())[1]["reply_to"] == "1"
    body = await our_bot.get_refusal("sendMessage", text="three", reply_parameters={"message_id": 7})
    assert body == "Bad Request: message to be replied not found"


async def test_bot_and_chat_can_be_read(our_bot: Bot) -> None:
    me = await our_bot.sandbox.get(f"/telegram/bot{our_bot.token}/getMe")
    assert me.json["result"]["is_bot"] is True
    chat = await our_bot.call("getChat")
    assert (chat.json["result"]["type"], chat.json["result"]["username"]) == ("channel", our_bot.account["handle"])


async def test_unknown_tokens_chats_and_parameters_are_refused(our_bot: Bot) -> None:
    assert await our_bot.get_refusal("sendMessage", text="x", chat_id="-1001") == "Bad Request: chat not found"
    assert "Unknown parameter" in await our_bot.get_refusal("sendMessage", text="x", colour="red")
    token, our_bot.token = our_bot.token, "1:guessed"
    response = await our_bot.call("sendMessage", text="x")
    assert (response.status, response.json) == (401, {"ok": False, "error_code": 401, "description": "Unauthorized"})
    our_bot.token = token
    await our_bot.sandbox.post(f"/_sandbox/accounts/telegram/{our_bot.account['handle']}", {"blocked": True})
    response = await our_bot.call("sendMessage", text="x")
    assert (response.status, response.json["description"]) == (403, "Forbidden: bot was kicked from the channel chat")


async def test_rate_limit_has_its_seconds_in_the_body(our_bot: Bot) -> None:
    await our_bot.sandbox.fault("telegram", "rate_limited", params={"seconds": 5})
    response = await our_bot.call("sendMessage", text="x")
    assert (response.status, response.json["parameters"]) == (429, {"retry_after": 5})
