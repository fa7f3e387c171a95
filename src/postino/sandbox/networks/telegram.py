"""Telegram: a bot speaks in a channel. It can send, and there is no way to read what was sent."""

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from postino.sandbox.network import (
    Ask,
    Doubt,
    Endpoint,
    Membership,
    Network,
    Refused,
    Reply,
    digits_of,
    secret_of,
)  # fmt: skip
from postino.sandbox.network_state import File, Memory

MESSAGE = "message"
LAST = "last"
PHOTO = "photo"
LONGEST_TEXT, LONGEST_CAPTION, LARGEST_PHOTO = 4096, 1024, 10 * 1024 * 1024
TAGS = "b|strong|i|em|u|ins|s|strike|del|span|tg-spoiler|a|tg-emoji|code|pre|blockquote"
TAG = re.compile(rf"</?(?:{TAGS})(?:\s[^<>]*)?>")


class Telegram(Network):
    name = "telegram"
    title = "Telegram"
    colour = "#2aabee"
    icon = "M2.5 11.6 21.5 4l-3.2 16-5.6-4.1-2.9 3-.7-5L17.6 7 6.8 13.1z"
    handle = "postcard"

    def membership(self, handle: str) -> Membership:
        token = f"{digits_of(self.name, f'{handle} bot', 10)}:{secret_of(self.name, handle, 'token', 35)}"
        chat = f"-100{digits_of(self.name, handle, 10)}"
        return Membership(remote_id=chat, credentials={"bot_token": token, "chat_id": chat}, tokens={token: "access"})

    def token(self, ask: Ask) -> str | None:
        return ask.path["token"]

    def bad_request(self, message: str) -> Reply:
        return error(400, f"Bad Request: {message}")

    def unauthorized(self, doubt: Doubt) -> Reply:
        return error(401, "Unauthorized")

    def blocked(self) -> Reply:
        return error(403, "Forbidden: bot was kicked from the channel chat")

    def no_such_endpoint(self) -> Reply:
        return error(404, "Not Found")

    def internal_error(self) -> Reply:
        return error(500, "Internal Server Error")

    def published_anyway(self) -> Reply:
        return error(502, "Bad Gateway")

    def rate_limited(self, seconds: int | None, now: datetime) -> Reply:
        if seconds is None:
            return error(429, "Too Many Requests")
        refusal = error(429, f"Too Many Requests: retry after {seconds}", {"retry_after": seconds})
        return replace(refusal, retry_at=now + timedelta(seconds=seconds))


def error(code: int, description: str, parameters: Mapping[str, Any] | None = None) -> Reply:
    body = {"ok": False, "error_code": code, "description": description}
    return Reply(code, body | ({"parameters": dict(parameters)} if parameters else {}))


def result(value: Any) -> Reply:
    return Reply(200, {"ok": True, "result": value})


def wrong(message: str) -> Refused:
    return Refused(NETWORK.bad_request(message))


# Sending


def send_message(ask: Ask, memory: Memory) -> Reply:
    check_chat(ask, memory)
    text = spoken(ask.text("text"), ask.text("parse_mode"))
    if not text.strip():
        raise wrong("message text is empty")
    if length(text) > LONGEST_TEXT:
        raise wrong("message is too long")
    reply_to = replied_to(ask, memory)
    message = kept(memory, {"text": text}, reply_to)
    memory.publish(str(message["message_id"]), text, reply_to=reply_to)
    return result(message)


def send_photo(ask: Ask, memory: Memory) -> Reply:
    check_chat(ask, memory)
    caption = checked_caption(ask.text("caption"), ask.text("parse_mode"))
    photo = photo_of(ask, memory, ask.files.get("photo") or ask.text("photo"))
    reply_to = replied_to(ask, memory)
    message = kept(memory, {"photo": sizes(memory, photo)} | ({"caption": caption} if caption else {}), reply_to)
    memory.publish(str(message["message_id"]), caption, media=[photo], reply_to=reply_to)
    return result(message)


def send_media_group(ask: Ask, memory: Memory) -> Reply:
    """Several messages that people see as one, known by the first."""
    check_chat(ask, memory)
    items = structured(ask, "media")
    if not isinstance(items, list) or not 2 <= len(items) <= 10:
        raise wrong("media group must have between 2 and 10 items")
    reply_to = replied_to(ask, memory)
    group = str(memory.number())
    messages, pictures, captions = [], [], []
    for item in items:
        caption, photo = checked_item(ask, memory, item)
        body = {"photo": sizes(memory, photo), "media_group_id": group} | ({"caption": caption} if caption else {})
        messages.append(kept(memory, body, reply_to))
        pictures.append(photo)
        captions.append(caption)
    text = "\n".join(filter(None, captions))
    memory.publish(str(messages[0]["message_id"]), text, media=pictures, reply_to=reply_to)
    return result(messages)


def checked_item(ask: Ask, memory: Memory, item: Any) -> tuple[str, dict[str, str]]:
    known = {"type", "media", "caption", "parse_mode", "caption_entities", "show_caption_above_media", "has_spoiler"}
    if not isinstance(item, dict) or item.get("type") not in ("photo", "video") or set(item) - known:
        raise wrong("can't parse InputMedia")
    media = str(item.get("media", ""))
    attached = ask.files.get(media.removeprefix("attach://")) if media.startswith("attach://") else None
    caption = checked_caption(str(item.get("caption", "")), str(item.get("parse_mode", "")))
    return caption, photo_of(ask, memory, attached or media)


def kept(memory: Memory, content: Mapping[str, Any], reply_to: str | None) -> dict[str, Any]:
    """Ids in a chat rise by one."""
    chat = memory.account.remote_id
    last = memory.find(LAST, chat)
    number = last.body["number"] + 1 if last else 1
    if last:
        memory.change(LAST, chat, number=number)
    else:
        memory.keep(LAST, chat, {"number": number})
    memory.keep(MESSAGE, f"{chat}/{number}", {})
    reply = {"reply_to_message": {"message_id": int(reply_to)}} if reply_to else {}
    date = int(memory.now.timestamp())
    return {"message_id": number, "date": date, "chat": chat_of(memory), "sender_chat": chat_of(memory), **content,
            **reply}  # fmt: skip


def chat_of(memory: Memory) -> dict[str, Any]:
    handle = memory.account.handle
    return {"id": int(memory.account.remote_id), "type": "channel", "title": handle.title(), "username": handle}


def photo_of(ask: Ask, memory: Memory, photo: File | str) -> dict[str, str]:
    """Sent along, to be fetched, or known by the id of an earlier one."""
    if isinstance(photo, str):
        if earlier := memory.find_own(PHOTO, photo):
            return earlier.body
        if not re.match(r"https?://", photo):
            raise wrong("wrong file identifier/HTTP URL specified")
        fetched = ask.fetched.get(photo)
        if fetched is None:
            raise wrong("failed to get HTTP URL content")
        photo = fetched
    if len(photo.data) > LARGEST_PHOTO:
        raise wrong("file is too big")
    if not photo.mime.startswith(("image/", "video/")):
        raise wrong("IMAGE_PROCESS_FAILED")
    return memory.store(photo)


def sizes(memory: Memory, photo: dict[str, str]) -> list[dict[str, Any]]:
    file_id = f"AgAC{memory.number():012d}"
    memory.keep(PHOTO, file_id, photo)
    return [{"file_id": file_id, "file_unique_id": file_id[-8:], "width": 320, "height": 320}]


def addresses(ask: Ask) -> Sequence[str]:
    told = [ask.params.get("photo"), *(item.get("media") for item in media_items(ask))]
    return [str(it) for it in told if isinstance(it, str) and it.startswith(("http://", "https://"))]


def media_items(ask: Ask) -> Iterator[dict[str, Any]]:
    try:
        items = structured(ask, "media")
    except Refused:
        return
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict):
            yield item


# Asking


def get_me(ask: Ask, memory: Memory) -> Reply:
    bot = memory.account.credentials["bot_token"].partition(":")[0]
    handle = memory.account.handle
    return result({
        "id": int(bot), "is_bot": True, "first_name": handle.title(), "username": f"{handle}_bot",
        "can_join_groups": True, "can_read_all_group_messages": False, "supports_inline_queries": False,
    })  # fmt: skip


def get_chat(ask: Ask, memory: Memory) -> Reply:
    check_chat(ask, memory)
    return result(chat_of(memory) | {"accent_color_id": 1, "max_reaction_count": 11})


# What a message must look like


def check_chat(ask: Ask, memory: Memory) -> None:
    if not ask.text("chat_id"):
        raise wrong("chat_id is empty")
    if ask.text("chat_id") not in (memory.account.remote_id, f"@{memory.account.handle}"):
        raise wrong("chat not found")


def checked_caption(text: str, parse_mode: str) -> str:
    caption = spoken(text, parse_mode)
    if length(caption) > LONGEST_CAPTION:
        raise wrong("message caption is too long")
    return caption


def spoken(text: str, parse_mode: str) -> str:
    """What people read, without the marks."""
    if not parse_mode:
        return text
    if parse_mode.lower() != "html":
        raise wrong("unsupported parse_mode")
    bare = TAG.sub("", text)
    if "<" in bare or text.count("</") * 2 != len(TAG.findall(text)):
        raise wrong("can't parse entities: Unsupported start tag or unclosed element")
    return html.unescape(bare)


def length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def replied_to(ask: Ask, memory: Memory) -> str | None:
    told = structured(ask, "reply_parameters")
    if told is None:
        return None
    number = str(told.get("message_id")) if isinstance(told, dict) else ""
    if memory.find_own(MESSAGE, f"{memory.account.remote_id}/{number}") is None:
        raise wrong("message to be replied not found")
    return number


def structured(ask: Ask, name: str) -> Any:
    """In forms, what has parts comes as JSON in a text."""
    value = ask.params.get(name)
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise wrong(f"can't parse {name} JSON object") from None


BOTH = ("POST", "GET")
SENDS = (
    "chat_id", "business_connection_id", "message_thread_id", "disable_notification", "protect_content",
    "message_effect_id", "reply_parameters",
)  # fmt: skip
CAPTION = ("caption", "parse_mode", "caption_entities", "show_caption_above_media", "has_spoiler", "reply_markup")

Telegram.endpoints = (
    Endpoint(
        name="sendMessage", methods=BOTH, path="/bot{token}/sendMessage", act=send_message, visible=True,
        takes=(*SENDS, "text", "parse_mode", "entities", "link_preview_options", "reply_markup"),
    ),
    Endpoint(
        name="sendPhoto", methods=BOTH, path="/bot{token}/sendPhoto", act=send_photo, visible=True, fetches=addresses,
        takes=(*SENDS, *CAPTION, "photo"),
    ),
    Endpoint(
        name="sendMediaGroup", methods=BOTH, path="/bot{token}/sendMediaGroup", act=send_media_group, visible=True,
        fetches=addresses, takes=(*SENDS, "media"), attachments=True,
    ),
    Endpoint(name="getMe", methods=BOTH, path="/bot{token}/getMe", act=get_me, reads=True),
    Endpoint(name="getChat", methods=BOTH, path="/bot{token}/getChat", act=get_chat, takes=("chat_id",)),
)  # fmt: skip
NETWORK = Telegram()
