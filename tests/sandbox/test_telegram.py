"""Telegram: a bot sends into its channel, and nobody can read there."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest

from tests.sandbox.running import Answered, Sandbox
from tests.sandbox.scripts import PICTURE


class Bot:
    def __init__(self, sandbox: Sandbox, account: dict[str, Any]) -> None:
        self.sandbox = sandbox
        self.account = account
        self.token = account["credentials"]["bot_token"]
        self.chat = account["credentials"]["chat_id"]

    async def call(self, name: str, **body: Any) -> Answered:
        return await self.sandbox.post(f"/telegram/bot{self.token}/{name}", {"chat_id": self.chat, **body})

    async def wrong(self, name: str, **body: Any) -> str:
        answer = await self.call(name, **body)
        assert (answer.status, answer.json["ok"], answer.json["error_code"]) == (400, False, 400), answer.text
        return str(answer.json["description"])


@pytest.fixture
async def ours(sandbox: Sandbox) -> Bot:
    return Bot(sandbox, await sandbox.account("telegram"))


async def test_messages_get_rising_numbers_in_their_chat(ours: Bot) -> None:
    answers = [await ours.call("sendMessage", text=f"number {number}") for number in range(3)]
    assert [it.json["result"]["message_id"] for it in answers] == [1, 2, 3]
    assert answers[0].json["result"]["chat"]["id"] == int(ours.chat)
    other = Bot(ours.sandbox, await ours.sandbox.account("telegram"))
    assert (await other.call("sendMessage", text="x")).json["result"]["message_id"] == 1
    seen = await ours.sandbox.published()
    assert [it["account"] for it in seen] == [ours.account["handle"]] * 3 + [other.account["handle"]]
    assert [it["remote_id"] for it in seen] == ["1", "2", "3", "1"]


async def test_a_form_or_the_address_will_do_as_well_as_json(ours: Bot) -> None:
    path = f"/telegram/bot{ours.token}/sendMessage"
    form = {"chat_id": ours.chat, "text": "by form"}
    assert (await ours.sandbox.call("POST", path, data=form)).status == 200
    assert (await ours.sandbox.get(path, params=form | {"text": "by address"})).status == 200
    assert [it["text"] for it in await ours.sandbox.published()] == ["by form", "by address"]


async def test_marks_are_not_part_of_what_is_read(ours: Bot) -> None:
    await ours.call("sendMessage", text='<b>Bold</b> &amp; <a href="https://a.example">linked</a>', parse_mode="HTML")
    assert [it["text"] for it in await ours.sandbox.published()] == ["Bold & linked"]
    assert "can't parse entities" in await ours.wrong("sendMessage", text="<b>open", parse_mode="HTML")
    assert "can't parse entities" in await ours.wrong("sendMessage", text="1 < 2", parse_mode="HTML")
    assert "unsupported parse_mode" in await ours.wrong("sendMessage", text="x", parse_mode="LaTeX")


async def test_texts_and_captions_have_an_end(ours: Bot) -> None:
    photo = f"{ours.sandbox.url}/_sandbox/media/sample.jpg"
    assert (await ours.call("sendMessage", text="x" * 4096)).status == 200
    assert await ours.wrong("sendMessage", text="x" * 4097) == "Bad Request: message is too long"
    assert await ours.wrong("sendMessage", text=" ") == "Bad Request: message text is empty"
    assert await ours.wrong("sendPhoto", photo=photo, caption="x" * 1025) == "Bad Request: message caption is too long"


async def test_photos_come_by_address_as_files_or_by_the_id_of_an_earlier_one(ours: Bot) -> None:
    fetched = await ours.call("sendPhoto", photo=f"{ours.sandbox.url}/_sandbox/media/sample.jpg", caption="fetched")
    again = await ours.call("sendPhoto", photo=fetched.json["result"]["photo"][0]["file_id"])
    assert again.status == 200
    form = aiohttp.FormData({"chat_id": ours.chat, "caption": "sent"})
    form.add_field("photo", PICTURE, filename="a.jpg", content_type="image/jpeg")
    assert (await ours.sandbox.call("POST", f"/telegram/bot{ours.token}/sendPhoto", data=form)).status == 200
    seen = await ours.sandbox.published()
    assert [(it["text"], len(it["media"])) for it in seen] == [("fetched", 1), ("", 1), ("sent", 1)]
    assert seen[0]["media"] == seen[1]["media"]


async def test_photos_that_cannot_be_had_are_refused(ours: Bot) -> None:
    missing = f"{ours.sandbox.url}/_sandbox/media/missing.jpg"
    assert "failed to get HTTP URL content" in await ours.wrong("sendPhoto", photo=missing)
    assert "wrong file identifier" in await ours.wrong("sendPhoto", photo="nonsense")
    assert "IMAGE_PROCESS_FAILED" in await ours.wrong("sendPhoto", photo=f"{ours.sandbox.url}/")


async def test_addresses_beyond_this_machine_are_believed_and_never_fetched(ours: Bot) -> None:
    address = "https://pictures.invalid/view.png"
    assert (await ours.call("sendPhoto", photo=address)).status == 200
    assert (await ours.sandbox.published())[0]["media"] == [{"url": address, "mime": "image/png"}]


async def test_a_group_of_photos_is_one_thing_to_see(ours: Bot) -> None:
    form = aiohttp.FormData({"chat_id": ours.chat})
    items = [
        {"type": "photo", "media": "attach://first", "caption": "two views"},
        {"type": "photo", "media": f"{ours.sandbox.url}/_sandbox/media/sample.png"},
    ]
    form.add_field("media", json.dumps(items))
    form.add_field("first", PICTURE, filename="a.jpg", content_type="image/jpeg")
    answer = await ours.sandbox.call("POST", f"/telegram/bot{ours.token}/sendMediaGroup", data=form)
    assert [it["message_id"] for it in answer.json["result"]] == [1, 2]
    [seen] = await ours.sandbox.published()
    assert (seen["remote_id"], seen["text"], len(seen["media"])) == ("1", "two views", 2)


@pytest.mark.parametrize("media", [[], [{"type": "photo"}], "nonsense", [{"type": "song"}, {"type": "song"}]])
async def test_a_group_that_is_none_is_refused(ours: Bot, media: Any) -> None:
    assert await ours.wrong("sendMediaGroup", media=media)


async def test_one_can_reply_to_what_is_there(ours: Bot) -> None:
    await ours.call("sendMessage", text="one")
    answer = await ours.call("sendMessage", text="two", reply_parameters={"message_id": 1})
    assert answer.json["result"]["reply_to_message"] == {"message_id": 1}
    assert (await ours.sandbox.published())[1]["reply_to"] == "1"
    told = await ours.wrong("sendMessage", text="three", reply_parameters={"message_id": 7})
    assert told == "Bad Request: message to be replied not found"


async def test_the_bot_and_its_chat_can_be_asked_for(ours: Bot) -> None:
    me = await ours.sandbox.get(f"/telegram/bot{ours.token}/getMe")
    assert me.json["result"]["is_bot"] is True
    chat = await ours.call("getChat")
    assert (chat.json["result"]["type"], chat.json["result"]["username"]) == ("channel", ours.account["handle"])


async def test_strangers_other_chats_and_unknown_words_are_refused(ours: Bot) -> None:
    assert await ours.wrong("sendMessage", text="x", chat_id="-1001") == "Bad Request: chat not found"
    assert "Unknown parameter" in await ours.wrong("sendMessage", text="x", colour="red")
    token, ours.token = ours.token, "1:guessed"
    answer = await ours.call("sendMessage", text="x")
    assert (answer.status, answer.json) == (401, {"ok": False, "error_code": 401, "description": "Unauthorized"})
    ours.token = token
    await ours.sandbox.post(f"/_sandbox/accounts/telegram/{ours.account['handle']}", {"blocked": True})
    answer = await ours.call("sendMessage", text="x")
    assert (answer.status, answer.json["description"]) == (403, "Forbidden: bot was kicked from the channel chat")


async def test_a_limit_says_how_long_in_the_answer_itself(ours: Bot) -> None:
    await ours.sandbox.fault("telegram", "rate_limited", params={"seconds": 5})
    answer = await ours.call("sendMessage", text="x")
    assert (answer.status, answer.json["parameters"]) == (429, {"retry_after": 5})
