"""Telegram. A bot can send messages but not read them back: after a lost response only a person can look."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any
from urllib.parse import quote

from postino import clock
from postino.providers.error_codes import (
    MISSING_TOKEN,
    Clock,
    ErrorRule,
    classify_by_status,
    classify_unreadable,
    find_rule,
    parse_object,
)
from postino.providers.media_download import MediaCache, MediaFile, download_media
from postino.providers.multipart import encode_multipart
from postino.providers.urls import build_page_url, join_url
from postino.rules.failures import add_wait
from postino.values.provider import (
    NEVER,
    Account,
    Answer,
    Call,
    Credential,
    Failure,
    FailureKind,
    Http,
    Post,
    Promise,
    PromiseClass,
    Published,
    Receipt,
    Tokens,
    UnreadableResponse,
)

MAX_DOWNLOAD_BYTES = {"image": 10_000_000, "video": 50_000_000}
MAX_CACHED_BYTES = 200_000_000
MEDIA_TYPES = {"image": "photo", "video": "video"}

ERRORS = (
    ErrorRule(
        FailureKind.AUTH,
        "Telegram no longer accepts the token of this bot. Get a token from @BotFather and reconnect the account.",
        ("401", "404"),
    ),
    # All that closes the chat to the bot is no fault of the post: every other post of the account would fail, too.
    ErrorRule(
        FailureKind.SUSPENDED,
        "The bot was blocked or removed from the chat. Make it an administrator there, then reconnect the account.",
        ("403",),
    ),
    ErrorRule(
        FailureKind.PERMANENT,
        "The bot may not send this type of media to this chat. Give it the right to, then publish again.",
        ("400",),
        r"not enough rights to send (?!text)|CHAT_SEND_\w{1,40}_FORBIDDEN",
    ),
    ErrorRule(
        FailureKind.SUSPENDED,
        "The bot may not write in this chat. Make it an administrator with the right to post, then reconnect the"
        " account.",
        ("400",),
        r"not enough rights|have no rights|CHAT_WRITE_FORBIDDEN|need administrator rights",
    ),
    ErrorRule(
        FailureKind.SUSPENDED,
        "Telegram does not know this chat. Add the bot to the chat, check its name and reconnect the account.",
        ("400",),
        r"chat not found|PEER_ID_INVALID|chat_id is empty",
    ),
    ErrorRule(
        FailureKind.SUSPENDED,
        "The group became a supergroup and has a new chat id. Reconnect the account.",
        ("400",),
        r"upgraded to a supergroup",
    ),
    ErrorRule(
        FailureKind.PERMANENT,
        "The caption is too long for Telegram. Shorten the text and publish again.",
        ("400",),
        r"caption is too long",
    ),
    ErrorRule(
        FailureKind.PERMANENT,
        "The text is too long for Telegram. Shorten it and publish again.",
        ("400",),
        r"message is too long",
    ),
    ErrorRule(
        FailureKind.PERMANENT, "A message needs text or media. Add some and publish again.", ("400",), r"is empty"
    ),
    ErrorRule(FailureKind.PERMANENT, "A file is too large for Telegram. Make it smaller and publish again.", ("413",)),
    ErrorRule(
        FailureKind.PERMANENT,
        "A file is too large for Telegram. Make it smaller and publish again.",
        ("400",),
        r"too (big|large)",
    ),
    ErrorRule(
        FailureKind.PERMANENT,
        "Telegram cannot read an image or a video. Choose another one and publish again.",
        ("400",),
        r"IMAGE_PROCESS_FAILED|PHOTO_\w+|wrong file|wrong type|failed to get HTTP|can't parse InputMedia",
    ),
    ErrorRule(
        FailureKind.PERMANENT,
        "Telegram accepts 2 to 10 images or videos in one post. Remove some and publish again.",
        ("400",),
        r"media group|too many messages",
    ),
)


class Telegram:
    name = "telegram"
    title = "Telegram"
    promise = Promise(
        PromiseClass.D,
        "A bot cannot read what it has sent, and Telegram does not recognise a repeated message. After a lost "
        "response, Postino sends nothing again; a person looks at the chat and decides.",
    )
    timeout = timedelta(seconds=30)
    listing_delay = timedelta(0)
    default_base_url = "https://api.telegram.org"
    credentials: Mapping[str, Credential] = {
        "bot_token": Credential("Bot token (from @BotFather)"),
        "chat_id": Credential("Chat id, or @channelname", secret=False, is_remote_id=True),
    }
    limits: Mapping[str, Any] = {
        "checked": date(2026, 11, 16),
        "source": "https://core.telegram.org/bots/api (sendMessage, sendPhoto, sendMediaGroup); sizes are those of"
        " uploads",
        "text": [{"measure": "utf16", "most": 4096}],
        "caption": [{"measure": "utf16", "most": 1024}],
        "threads": False,
        "media": {"most": 10, "image": {"most": 10, "types": ["jpg", "png", "webp"], "bytes": 10_000_000}},
    }
    quotas: Sequence[Mapping[str, Any]] = [
        {
            "name": "messages per minute",
            "most": 20,
            "period": {"minutes": 1},
            "whose": "account",
            "costs": {"post": 1},
            "checked": date(2026, 11, 16),
            "source": "second-hand, python-telegram-bot's constants and wiki (Avoiding flood limits): about 20 in a"
            " group, according to Telegram's support in channels too; Telegram gives no exact figure",
        }
    ]

    def __init__(self, now: Clock = clock.now) -> None:
        self._now = now
        self._media_cache = MediaCache(MAX_CACHED_BYTES)

    async def publish(self, post: Post, call: Call) -> Published:
        if len(post.parts) > 1:
            await call.step("thread", self.refuse_thread)
        if post.media:
            await call.step("media", self.prepare_media, post)
        receipt = await call.once("post 1", self.send, post, found=None, resend=NEVER, prepare=self.load_files)
        return Published(receipt.remote_id, receipt.url)

    async def refresh(self, account: Account, http: Http) -> Tokens | Failure:
        """Check that Telegram still accepts the bot's token, which does not expire, and lets the bot into the chat."""
        answer = await self._call(http, account, "getMe")
        if answer.ok:
            answer = await self._call(http, account, "getChat", json={"chat_id": _find_chat_id(account)})
        return Tokens(credentials=account.credentials) if answer.ok else self.classify(answer)

    def get_id_scope(self, account: Account) -> str:
        """Return the chat: each channel and supergroup numbers its messages from 1.

        The messages of private chats and basic groups have numbers of the bot. A name may go to a new channel: then
        the response says which one it is.
        """
        chat = _find_chat_id(account)
        bot = re.match(r"\d+(?=:)", account.credentials.get("bot_token", "").strip(), re.ASCII)
        return chat if bot is None or chat.startswith(("@", "-100")) else f"{bot[0]} {chat}"

    def classify(self, answer: Answer) -> Failure:
        body, now = parse_object(answer), self._now()
        code, text = str(answer.status), str(body.get("description") or "")
        if answer.status < 500 and "ok" not in body and answer is not MISSING_TOKEN:
            return classify_unreadable("Telegram", answer)  # a proxy may have sent it, not Telegram
        if rule := find_rule(ERRORS, code, text):
            return Failure(rule.kind, rule.message, code)
        match body.get("parameters"):
            case {"retry_after": int(seconds)}:
                return classify_by_status("Telegram", answer, code, text, now, add_wait(seconds, now))
        return classify_by_status("Telegram", answer, code, text, now)

    # --- Steps

    async def refuse_thread(self, http: Http) -> Failure:
        return Failure(
            FailureKind.PERMANENT,
            "Telegram has no threads. Put all text into one message, or publish the parts as separate posts.",
        )

    async def prepare_media(self, http: Http, post: Post) -> list[dict[str, Any]] | Failure:
        """Download the media and remember what it is: the order of the steps must not change."""
        files = await self.load_files(http, post)
        if isinstance(files, Failure):
            return files
        return [{"type": file.type, "bytes": len(file.data)} for file in files]

    async def load_files(self, http: Http, post: Post) -> list[MediaFile] | Failure:
        """Return the media, from memory if this worker has downloaded it before."""
        files = []
        for media in post.media:
            name = f"{post.id} {media.url}"
            file = self._media_cache.get(name) or await download_media(
                http, media, MAX_DOWNLOAD_BYTES.get(media.kind, MAX_DOWNLOAD_BYTES["image"])
            )
            if isinstance(file, Failure):
                return file
            self._media_cache.put(name, file)
            files.append(file)
        return files

    async def send(self, http: Http, files: list[MediaFile], post: Post) -> Receipt | Failure:
        """Send the message. Visible."""
        method, content = _build_message(post, files)
        answer = await self._call(http, post.account, method, **content)
        if not answer.ok:
            return self.classify(answer)
        for media in post.media:
            self._media_cache.drop(f"{post.id} {media.url}")
        return _to_receipt(post.account, answer.json())

    # --- Helpers

    async def _call(self, http: Http, account: Account, method: str, **content: Any) -> Answer:
        token = quote(account.credentials.get("bot_token", "").strip(), safe=":")
        if not token:
            return MISSING_TOKEN
        return await http.request("POST", join_url(account.base_url, f"bot{token}/{method}"), **content)


def _build_message(post: Post, files: list[MediaFile]) -> tuple[str, dict[str, Any]]:
    """Return the API method and the content of the request."""
    text, chat = post.parts[0], _find_chat_id(post.account)
    if not files:
        return "sendMessage", {"json": {"chat_id": chat, "text": text}}
    kinds = [MEDIA_TYPES.get(media.kind, "photo") for media in post.media]
    if len(files) == 1:
        fields = {"chat_id": chat, "caption": text} if text else {"chat_id": chat}
        headers, body = encode_multipart(fields, {kinds[0]: files[0]})
        return f"send{kinds[0].title()}", {"headers": headers, "body": body}
    group = [{"type": kind, "media": f"attach://file{number}"} for number, kind in enumerate(kinds)]
    if text:
        group[0]["caption"] = text
    attached = {f"file{number}": file for number, file in enumerate(files)}
    headers, body = encode_multipart({"chat_id": chat, "media": json.dumps(group)}, attached)
    return "sendMediaGroup", {"headers": headers, "body": body}


def _find_chat_id(account: Account) -> str:
    chat_id = account.credentials.get("chat_id") or account.remote_id
    return chat_id or f"@{account.handle.removeprefix('@')}"


def _to_receipt(account: Account, body: Any) -> Receipt:
    """Return the receipt for the first message: several files are several messages."""
    result: Any = body.get("result") if isinstance(body, dict) else None
    messages: list[Any] = result if isinstance(result, list) else [result]
    match messages[:1]:
        case [{"message_id": int(number), "chat": Mapping() as chat}]:
            numbers = [one["message_id"] for one in messages if isinstance(one, dict) and "message_id" in one]
            return Receipt(
                remote_id=str(number),
                url=_build_url(account, chat, number),
                data={"message_ids": numbers},
                id_scope=_find_id_scope(account, chat),
            )
    raise UnreadableResponse("Telegram's response contains no message.")


def _find_id_scope(account: Account, chat: Mapping[str, Any]) -> str | None:
    """Return the scope of a chat that the account knows by name only: a deleted channel's name may go to a new one."""
    name = _find_chat_id(account)
    match chat:
        case {"id": int(id)} if name.startswith("@"):
            return f"{name} {id}"
    return None


def _build_url(account: Account, chat: Mapping[str, Any], number: int) -> str | None:
    """Return the message's link. Only members can open one of a chat without a user name; small groups have none."""
    match chat:
        case {"username": str(name)}:
            return build_page_url(account.base_url, f"https://t.me/{name}/{number}")
        case {"id": int(id)} if str(id).startswith("-100"):
            return build_page_url(account.base_url, f"https://t.me/c/{str(id)[4:]}/{number}")
    return None


NETWORK = Telegram()
