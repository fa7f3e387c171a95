"""Telegram: a bot can send, and never see what it sent. After a lost answer only a person can look."""

import json
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any
from urllib.parse import quote

from postino.providers.error_codes import UNKNOWN_CALLER, Clock, Row, by_fallback, by_nobody, look_up, said_in, utc_now
from postino.providers.media_download import File, Shelf, fetch
from postino.providers.multipart import multipart
from postino.providers.urls import endpoint, page
from postino.rules.failures import add_wait, is_definite_refusal
from postino.values.provider import (
    NEVER,
    Account,
    Answer,
    Call,
    Credential,
    Failure,
    FailureKind,
    Grade,
    Http,
    NoResponse,
    NotSent,
    Post,
    Promise,
    Published,
    Receipt,
    Tokens,
    UnreadableResponse,
)

MOST_BYTES = {"image": 10_000_000, "video": 50_000_000}
MOST_SHELVED = 200_000_000
KINDS = {"image": "photo", "video": "video"}

TABLE = (
    Row(
        FailureKind.AUTH,
        "Telegram does not know this bot any more. Get its token from @BotFather and reconnect the account.",
        ("401", "404"),
    ),
    Row(
        FailureKind.PERMANENT,
        "The bot has been blocked or removed from the chat. Make it an administrator there; then publish again.",
        ("403",),
    ),
    Row(
        FailureKind.PERMANENT,
        "The bot may not write in this chat. Make it an administrator with the right to post; then publish again.",
        ("400",),
        r"not enough rights|have no rights|CHAT_WRITE_FORBIDDEN|need administrator rights",
    ),
    Row(
        FailureKind.PERMANENT,
        "Telegram does not know this chat. Add the bot to it, check the name and reconnect the account.",
        ("400",),
        r"chat not found|PEER_ID_INVALID|chat_id is empty",
    ),
    Row(
        FailureKind.PERMANENT,
        "The group has become a supergroup and has a new number. Reconnect the account.",
        ("400",),
        r"upgraded to a supergroup",
    ),
    Row(
        FailureKind.PERMANENT,
        "The text under a picture is too long for Telegram. Shorten it and publish it again.",
        ("400",),
        r"caption is too long",
    ),
    Row(
        FailureKind.PERMANENT,
        "The text is too long for Telegram. Shorten it and publish it again.",
        ("400",),
        r"message is too long",
    ),
    Row(
        FailureKind.PERMANENT,
        "A message needs a text or a picture. Add one and publish it again.",
        ("400",),
        r"is empty",
    ),
    Row(FailureKind.PERMANENT, "A file is too large for Telegram. Make it smaller and publish it again.", ("413",)),
    Row(
        FailureKind.PERMANENT,
        "A file is too large for Telegram. Make it smaller and publish it again.",
        ("400",),
        r"too (big|large)",
    ),
    Row(
        FailureKind.PERMANENT,
        "Telegram cannot read a picture or film. Choose another one and publish it again.",
        ("400",),
        r"IMAGE_PROCESS_FAILED|PHOTO_\w+|wrong file|wrong type|failed to get HTTP|can't parse InputMedia",
    ),
    Row(
        FailureKind.PERMANENT,
        "Telegram takes 2 to 10 pictures or films together. Take some out and publish it again.",
        ("400",),
        r"media group|too many messages",
    ),
)


class Telegram:
    name = "telegram"
    title = "Telegram"
    promise = Promise(
        Grade.D,
        "A bot cannot see what it has sent, and Telegram does not tell a repetition from a second message: after a "
        "lost answer nothing is sent again, and a person is asked to look.",
    )
    timeout = timedelta(seconds=30)
    visibility = timedelta(0)
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

    def __init__(self, now: Clock = utc_now) -> None:
        self._now = now
        self._shelf = Shelf(MOST_SHELVED)

    async def publish(self, post: Post, call: Call) -> Published:
        if len(post.parts) > 1:
            await call.step("thread", self.refuse_thread)
        if post.media:
            await call.step("media", self.fetch_media, post)
        receipt = await call.once("post 1", self.send, post, found=None, resend=NEVER)
        return Published(receipt.remote_id, receipt.url)

    async def refresh(self, account: Account, http: Http) -> Tokens | Failure:
        """A bot's token does not end; whether it is still taken can be asked."""
        answer = await self._ask(http, account, "getMe")
        return Tokens(credentials=account.credentials) if answer.ok else self.classify(answer)

    def classify(self, answer: Answer) -> Failure:
        said, now = said_in(answer), self._now()
        code, words = str(answer.status), str(said.get("description") or "")
        if answer.status < 500 and "ok" not in said and answer is not UNKNOWN_CALLER:
            return by_nobody("Telegram", answer)  # not its own words: somebody in between may have answered
        if row := look_up(TABLE, code, words):
            return Failure(row.kind, row.message, code)
        match said.get("parameters"):
            case {"retry_after": int(seconds)}:
                return by_fallback("Telegram", answer, code, words, now, add_wait(seconds, now))
        return by_fallback("Telegram", answer, code, words, now)

    # --- Acts

    async def refuse_thread(self, http: Http) -> Failure:
        return Failure(
            FailureKind.PERMANENT,
            "Telegram has no threads. Put everything into one message, or publish the parts as posts of their own.",
        )

    async def fetch_media(self, http: Http, post: Post) -> list[dict[str, Any]] | Failure:
        """Before anything is said to be sent: what cannot be fetched is refused, the rest is at hand when it counts."""
        files = await self._files(http, post)
        if isinstance(files, Failure):
            return files
        return [{"type": file.type, "bytes": len(file.data)} for file in files]

    async def send(self, http: Http, post: Post) -> Receipt | Failure:
        """Visible."""
        try:
            files = await self._files(http, post)
        except NoResponse as lost:
            raise NotSent(f"A picture or film could not be fetched, so nothing was sent. {lost}") from None
        if isinstance(files, Failure):
            if is_definite_refusal(files):
                return files
            raise NotSent(files.message)
        method, sending = _message(post, files)
        answer = await self._ask(http, post.account, method, **sending)
        if not answer.ok:
            return self.classify(answer)
        for media in post.media:
            self._shelf.drop(f"{post.id} {media.url}")
        return _receipt(post.account, answer.json())

    # --- What they are made of

    async def _files(self, http: Http, post: Post) -> list[File] | Failure:
        files = []
        for media in post.media:
            name = f"{post.id} {media.url}"
            file = self._shelf.get(name) or await fetch(http, media, MOST_BYTES.get(media.kind, MOST_BYTES["image"]))
            if isinstance(file, Failure):
                return file
            self._shelf.put(name, file)
            files.append(file)
        return files

    async def _ask(self, http: Http, account: Account, method: str, **sending: Any) -> Answer:
        token = quote(account.credentials.get("bot_token", "").strip(), safe=":")
        if not token:
            return UNKNOWN_CALLER
        return await http.request("POST", endpoint(account.base_url, f"bot{token}/{method}"), **sending)


def _message(post: Post, files: list[File]) -> tuple[str, dict[str, Any]]:
    """The method to call, and what to send it."""
    text, chat = post.parts[0], _chat(post.account)
    if not files:
        return "sendMessage", {"json": {"chat_id": chat, "text": text}}
    kinds = [KINDS.get(media.kind, "photo") for media in post.media]
    if len(files) == 1:
        fields = {"chat_id": chat, "caption": text} if text else {"chat_id": chat}
        headers, body = multipart(fields, {kinds[0]: files[0]})
        return f"send{kinds[0].title()}", {"headers": headers, "body": body}
    group = [{"type": kind, "media": f"attach://file{number}"} for number, kind in enumerate(kinds)]
    if text:
        group[0]["caption"] = text
    attached = {f"file{number}": file for number, file in enumerate(files)}
    headers, body = multipart({"chat_id": chat, "media": json.dumps(group)}, attached)
    return "sendMediaGroup", {"headers": headers, "body": body}


def _chat(account: Account) -> str:
    known = account.credentials.get("chat_id") or account.remote_id
    return known or f"@{account.handle.removeprefix('@')}"


def _receipt(account: Account, said: Any) -> Receipt:
    """Several files are several messages, known by the first."""
    result: Any = said.get("result") if isinstance(said, dict) else None
    messages: list[Any] = result if isinstance(result, list) else [result]
    match messages[:1]:
        case [{"message_id": int(number), "chat": Mapping() as chat}]:
            numbers = [message["message_id"] for message in messages]
            return Receipt(remote_id=str(number), url=_url(account, chat, number), data={"message_ids": numbers})
    raise UnreadableResponse("Telegram's answer names no message.")


def _url(account: Account, chat: Mapping[str, Any], number: int) -> str | None:
    """Chats without a name can be looked at by their members, and private ones by nobody else."""
    match chat:
        case {"username": str(name)}:
            return page(account.base_url, f"https://t.me/{name}/{number}")
        case {"id": int(id)} if str(id).startswith("-100"):
            return page(account.base_url, f"https://t.me/c/{str(id)[4:]}/{number}")
    return None


NETWORK = Telegram()
