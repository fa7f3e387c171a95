"""Telegram. A bot sends messages to a channel and cannot read them back."""

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from postino.sandbox.network import (
    AccountSetup,
    Reply,
    RequestRefused,
    SandboxCall,
    SandboxEndpoint,
    SandboxNetwork,
    TokenProblem,
    derive_digits,
    derive_secret,
)  # fmt: skip
from postino.sandbox.network_state import NetworkState, SandboxFile

MESSAGE = "message"
LAST = "last"
PHOTO = "photo"
MAX_TEXT, MAX_CAPTION, MAX_PHOTO_BYTES = 4096, 1024, 10 * 1024 * 1024
TAGS = "b|strong|i|em|u|ins|s|strike|del|span|tg-spoiler|a|tg-emoji|code|pre|blockquote"
TAG = re.compile(rf"</?(?:{TAGS})(?:\s[^<>]*)?>")


class SandboxTelegram(SandboxNetwork):
    name = "telegram"
    title = "Telegram"
    colour = "#2aabee"
    icon = "M2.5 11.6 21.5 4l-3.2 16-5.6-4.1-2.9 3-.7-5L17.6 7 6.8 13.1z"
    handle = "postcard"

    def set_up_account(self, handle: str) -> AccountSetup:
        token = f"{derive_digits(self.name, f'{handle} bot', 10)}:{derive_secret(self.name, handle, 'token', 35)}"
        chat = f"-100{derive_digits(self.name, handle, 10)}"
        return AccountSetup(remote_id=chat, credentials={"bot_token": token, "chat_id": chat}, tokens={token: "access"})

    def read_token(self, call: SandboxCall) -> str | None:
        return call.path["token"]

    def reply_bad_request(self, message: str) -> Reply:
        return error(400, f"Bad Request: {message}")

    def reply_unauthorized(self, problem: TokenProblem) -> Reply:
        return error(401, "Unauthorized")

    def reply_blocked(self) -> Reply:
        return error(403, "Forbidden: bot was kicked from the channel chat")

    def reply_not_found(self) -> Reply:
        return error(404, "Not Found")

    def reply_internal_error(self) -> Reply:
        return error(500, "Internal Server Error")

    def reply_misleading_error(self) -> Reply:
        return error(502, "Bad Gateway")

    def reply_rate_limited(self, seconds: int | None, now: datetime) -> Reply:
        if seconds is None:
            return error(429, "Too Many Requests")
        refusal = error(429, f"Too Many Requests: retry after {seconds}", {"retry_after": seconds})
        return replace(refusal, retry_at=now + timedelta(seconds=seconds))


def error(code: int, description: str, parameters: Mapping[str, Any] | None = None) -> Reply:
    body = {"ok": False, "error_code": code, "description": description}
    return Reply(code, body | ({"parameters": dict(parameters)} if parameters else {}))


def reply_with(value: Any) -> Reply:
    return Reply(200, {"ok": True, "result": value})


def refuse(message: str) -> RequestRefused:
    return RequestRefused(NETWORK.reply_bad_request(message))


# Sending


def send_message(call: SandboxCall, state: NetworkState) -> Reply:
    check_chat(call, state)
    text = strip_markup(call.text("text"), call.text("parse_mode"))
    if not text.strip():
        raise refuse("message text is empty")
    if count_utf16_units(text) > MAX_TEXT:
        raise refuse("message is too long")
    reply_to = find_replied_message(call, state)
    message = add_message(state, {"text": text}, reply_to)
    state.publish(str(message["message_id"]), text, reply_to=reply_to)
    return reply_with(message)


def send_photo(call: SandboxCall, state: NetworkState) -> Reply:
    check_chat(call, state)
    caption = parse_caption(call.text("caption"), call.text("parse_mode"))
    photo = load_photo(call, state, call.files.get("photo") or call.text("photo"))
    reply_to = find_replied_message(call, state)
    message = add_message(
        state, {"photo": add_photo(state, photo)} | ({"caption": caption} if caption else {}), reply_to
    )
    state.publish(str(message["message_id"]), caption, media=[photo], reply_to=reply_to)
    return reply_with(message)


def send_media_group(call: SandboxCall, state: NetworkState) -> Reply:
    """Send an album: several messages that people see as one. Its id is that of the first."""
    check_chat(call, state)
    items = parse_json_field(call, "media")
    if not isinstance(items, list) or not 2 <= len(items) <= 10:
        raise refuse("media group must have between 2 and 10 items")
    reply_to = find_replied_message(call, state)
    group = str(state.next_number())
    messages, media, captions = [], [], []
    for item in items:
        caption, photo = parse_item(call, state, item)
        body = {"photo": add_photo(state, photo), "media_group_id": group} | ({"caption": caption} if caption else {})
        messages.append(add_message(state, body, reply_to))
        media.append(photo)
        captions.append(caption)
    text = "\n".join(filter(None, captions))
    state.publish(str(messages[0]["message_id"]), text, media=media, reply_to=reply_to)
    return reply_with(messages)


def parse_item(call: SandboxCall, state: NetworkState, item: Any) -> tuple[str, dict[str, str]]:
    known = {"type", "media", "caption", "parse_mode", "caption_entities", "show_caption_above_media", "has_spoiler"}
    if not isinstance(item, dict) or item.get("type") not in ("photo", "video") or set(item) - known:
        raise refuse("can't parse InputMedia")
    media = str(item.get("media", ""))
    attached = call.files.get(media.removeprefix("attach://")) if media.startswith("attach://") else None
    caption = parse_caption(str(item.get("caption", "")), str(item.get("parse_mode", "")))
    return caption, load_photo(call, state, attached or media)


def add_message(state: NetworkState, content: Mapping[str, Any], reply_to: str | None) -> dict[str, Any]:
    """Store a message. Message ids in a chat are consecutive."""
    chat = state.account.remote_id
    last = state.find(LAST, chat)
    number = last.body["number"] + 1 if last else 1
    if last:
        state.update(LAST, chat, number=number)
    else:
        state.add(LAST, chat, {"number": number})
    state.add(MESSAGE, f"{chat}/{number}", {})
    reply = {"reply_to_message": {"message_id": int(reply_to)}} if reply_to else {}
    date = int(state.now.timestamp())
    return {"message_id": number, "date": date, "chat": render_chat(state),
    "sender_chat": render_chat(state), **content,
            **reply}  # fmt: skip


def render_chat(state: NetworkState) -> dict[str, Any]:
    handle = state.account.handle
    return {"id": int(state.account.remote_id), "type": "channel", "title": handle.title(), "username": handle}


def load_photo(call: SandboxCall, state: NetworkState, photo: SandboxFile | str) -> dict[str, str]:
    """Return a photo: uploaded, downloaded from a URL, or sent earlier and given by its id."""
    if isinstance(photo, str):
        if earlier := state.find_owned(PHOTO, photo):
            return earlier.body
        if not re.match(r"https?://", photo):
            raise refuse("wrong file identifier/HTTP URL specified")
        fetched = call.fetched.get(photo)
        if fetched is None:
            raise refuse("failed to get HTTP URL content")
        photo = fetched
    if len(photo.data) > MAX_PHOTO_BYTES:
        raise refuse("file is too big")
    if not photo.mime.startswith(("image/", "video/")):
        raise refuse("IMAGE_PROCESS_FAILED")
    return state.store_media(photo)


def add_photo(state: NetworkState, photo: dict[str, str]) -> list[dict[str, Any]]:
    file_id = f"AgAC{state.next_number():012d}"
    state.add(PHOTO, file_id, photo)
    return [{"file_id": file_id, "file_unique_id": file_id[-8:], "width": 320, "height": 320}]


def list_urls(call: SandboxCall) -> Sequence[str]:
    value = [call.params.get("photo"), *(item.get("media") for item in media_items(call))]
    return [str(it) for it in value if isinstance(it, str) and it.startswith(("http://", "https://"))]


def media_items(call: SandboxCall) -> Iterator[dict[str, Any]]:
    try:
        items = parse_json_field(call, "media")
    except RequestRefused:
        return
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict):
            yield item


# Reading


def get_me(call: SandboxCall, state: NetworkState) -> Reply:
    bot = state.account.credentials["bot_token"].partition(":")[0]
    handle = state.account.handle
    return reply_with({
        "id": int(bot), "is_bot": True, "first_name": handle.title(), "username": f"{handle}_bot",
        "can_join_groups": True, "can_read_all_group_messages": False, "supports_inline_queries": False,
    })  # fmt: skip


def get_chat(call: SandboxCall, state: NetworkState) -> Reply:
    check_chat(call, state)
    return reply_with(render_chat(state) | {"accent_color_id": 1, "max_reaction_count": 11})


# Checks


def check_chat(call: SandboxCall, state: NetworkState) -> None:
    if not call.text("chat_id"):
        raise refuse("chat_id is empty")
    if call.text("chat_id") not in (state.account.remote_id, f"@{state.account.handle}"):
        raise refuse("chat not found")


def parse_caption(text: str, parse_mode: str) -> str:
    caption = strip_markup(text, parse_mode)
    if count_utf16_units(caption) > MAX_CAPTION:
        raise refuse("message caption is too long")
    return caption


def strip_markup(text: str, parse_mode: str) -> str:
    """Return the text without its markup."""
    if not parse_mode:
        return text
    if parse_mode.lower() != "html":
        raise refuse("unsupported parse_mode")
    bare = TAG.sub("", text)
    if "<" in bare or text.count("</") * 2 != len(TAG.findall(text)):
        raise refuse("can't parse entities: Unsupported start tag or unclosed element")
    return html.unescape(bare)


def count_utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def find_replied_message(call: SandboxCall, state: NetworkState) -> str | None:
    value = parse_json_field(call, "reply_parameters")
    if value is None:
        return None
    number = str(value.get("message_id")) if isinstance(value, dict) else ""
    if state.find_owned(MESSAGE, f"{state.account.remote_id}/{number}") is None:
        raise refuse("message to be replied not found")
    return number


def parse_json_field(call: SandboxCall, name: str) -> Any:
    """Return a structured parameter: in a form it is JSON text."""
    value = call.params.get(name)
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise refuse(f"can't parse {name} JSON object") from None


BOTH = ("POST", "GET")
SENDS = (
    "chat_id", "business_connection_id", "message_thread_id", "disable_notification", "protect_content",
    "message_effect_id", "reply_parameters",
)  # fmt: skip
CAPTION = ("caption", "parse_mode", "caption_entities", "show_caption_above_media", "has_spoiler", "reply_markup")

SandboxTelegram.endpoints = (
    SandboxEndpoint(
        name="sendMessage", methods=BOTH, path="/bot{token}/sendMessage", act=send_message, visible=True,
        takes=(*SENDS, "text", "parse_mode", "entities", "link_preview_options", "reply_markup"),
    ),
    SandboxEndpoint(
        name="sendPhoto", methods=BOTH, path="/bot{token}/sendPhoto", act=send_photo, visible=True, fetches=list_urls,
        takes=(*SENDS, *CAPTION, "photo"),
    ),
    SandboxEndpoint(
        name="sendMediaGroup", methods=BOTH, path="/bot{token}/sendMediaGroup", act=send_media_group, visible=True,
        fetches=list_urls, takes=(*SENDS, "media"), attachments=True,
    ),
    SandboxEndpoint(name="getMe", methods=BOTH, path="/bot{token}/getMe", act=get_me, reads=True),
    SandboxEndpoint(name="getChat", methods=BOTH, path="/bot{token}/getChat", act=get_chat, takes=("chat_id",)),
)  # fmt: skip
NETWORK = SandboxTelegram()
