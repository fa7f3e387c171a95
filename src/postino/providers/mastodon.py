"""Mastodon: the server knows a key for an hour, and after that lists what is there."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from postino.providers.error_codes import UNKNOWN_CALLER, Clock, Row, by_fallback, by_nobody, look_up, said_in, utc_now
from postino.providers.media_download import fetch, upload_seconds
from postino.providers.multipart import multipart
from postino.providers.text_match import same_as_page, same_text
from postino.providers.urls import endpoint
from postino.rules.failures import parse_reset_time
from postino.values.provider import (
    Account,
    Answer,
    Call,
    CannotTell,
    Credential,
    Failure,
    FailureKind,
    Found,
    Grade,
    Http,
    Intent,
    LookupResult,
    Media,
    NotFound,
    Post,
    Promise,
    Published,
    Receipt,
    Tokens,
    UnreadableResponse,
    resend_with_key,
)

MOST_BYTES = {"image": 20_000_000, "video": 110_000_000}
OPTIONS = ("visibility", "sensitive", "spoiler_text", "language")
# Servers keep a key for an hour from when they have stored the status. The margin is for a repetition on its way.
KEY_LIFE = timedelta(minutes=50)
# Servers date statuses by their own clock. Clocks that are kept agree within a second, neglected ones seldom within
# this; a person who posts the same words by hand so shortly before their scheduled time is rarer still.
CLOCK_ALLOWANCE = timedelta(seconds=30)
PAGE, MOST_PAGES = 40, 5
POLL, PATIENCE = timedelta(seconds=2), timedelta(minutes=15)

RECONNECT = "Reconnect the account."
TABLE = (
    Row(FailureKind.AUTH, f"The server no longer accepts the sign-in of this account. {RECONNECT}", ("401",)),
    Row(
        FailureKind.AUTH,
        f"Postino may not publish for this account. {RECONNECT} Allow it to write posts and media.",
        ("403",),
        r"scope",
    ),
    Row(
        FailureKind.PERMANENT,
        "The server has blocked this account or not yet let it in. Sign in there to see why; then publish again.",
        ("403",),
        r"disabled|suspended|pending|confirmed|frozen",
    ),
    Row(
        FailureKind.PERMANENT,
        "The text is too long for this server. Shorten it and publish it again.",
        ("422",),
        r"character limit|too long",
    ),
    Row(
        FailureKind.PERMANENT,
        "A post needs a text or a picture. Add one and publish it again.",
        ("422",),
        r"can't be blank",
    ),
    Row(
        FailureKind.TRANSIENT,
        "The server is still busy with a picture or film. Postino tries again by itself.",
        ("422",),
        r"not finished processing",
    ),
    Row(
        FailureKind.PERMANENT,
        "This server does not take so many files, or these together. Take some out and publish it again.",
        ("422",),
        r"Cannot attach",
    ),
    Row(
        FailureKind.PERMANENT,
        "The server no longer has an uploaded file. Upload it again and publish the post again.",
        ("422",),
        r"Media .*not found|already attached",
    ),
    Row(FailureKind.PERMANENT, "A file is too large for this server. Make it smaller.", ("413",)),
    Row(
        FailureKind.PERMANENT, "A file is too large for this server. Make it smaller.", ("422",), r"file size|too large"
    ),
    Row(
        FailureKind.PERMANENT,
        "The server does not take this file. Choose one of another type.",
        ("422",),
        r"File.*(invalid|supported)|content type|processing",
    ),
    Row(
        FailureKind.PERMANENT,
        "What this part of a thread answers to is not there any more. Publish the rest as a new post.",
        ("404",),
        r"reply",
    ),
)

Held = Callable[[list[str]], Awaitable[set[str]]]


@dataclass(frozen=True, slots=True)
class Status:
    """What is to be posted."""

    account: Account
    account_id: str
    key: str
    text: str
    media: tuple[str, ...] = ()
    reply_to: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


class Mastodon:
    name = "mastodon"
    title = "Mastodon"
    promise = Promise(
        Grade.B,
        "The server refuses a repetition for an hour, by its key: after a lost answer Postino looks for the post among "
        "the newest ones of the account and sends it again only within that hour; later a person is asked.",
    )
    timeout = timedelta(seconds=30)
    visibility = timedelta(seconds=60)  # servers whose proxy gave up have stored the status as late as this
    credentials: Mapping[str, Credential] = {
        "access_token": Credential("Access token (Preferences → Development → your application)")
    }
    limits: Mapping[str, Any] = {
        "checked": date(2026, 11, 16),
        "source": "https://docs.joinmastodon.org/user/posting/ and the server's own validators; a server may allow"
        " more: /api/v2/instance",
        "text": [{"measure": "graphemes", "most": 500, "link": 23, "short_mentions": True}],
        "counted": ["spoiler_text"],
        "threads": True,
        "media": {
            "most": 4,
            "image": {
                "most": 4,
                "types": ["jpg", "png", "gif", "webp", "avif", "heic", "heif"],
                "bytes": 16_777_216,
                "alt": {"measure": "characters", "most": 1500},
            },
            "video": {
                "most": 1,
                "types": ["mp4", "m4v", "mov", "webm"],
                "bytes": 103_809_024,
                "alt": {"measure": "characters", "most": 1500},
            },
        },
    }
    quotas: Sequence[Mapping[str, Any]] = [
        {
            "name": "posts per 3 hours",
            "most": 300,
            "period": {"hours": 3},
            "whose": "account",
            "costs": {"post": 1},
            "checked": date(2026, 11, 16),
            "source": "the server's source, RateLimiter",
        },
        {
            "name": "uploads per 30 minutes",
            "most": 30,
            "period": {"minutes": 30},
            "whose": "account",
            "costs": {"media": 1},
            "checked": date(2026, 11, 16),
            "source": "second-hand, quoted from https://docs.joinmastodon.org/api/rate-limits/",
        },
    ]

    def __init__(self, now: Clock = utc_now) -> None:
        self._now = now

    async def publish(self, post: Post, call: Call) -> Published:
        account = post.account
        # Known or not, it is a step: an account that is connected anew must not change the order of those that follow.
        account_id = await call.step("account", self.identify, account)
        media = [await self._media(number, one, account, call) for number, one in enumerate(post.media, 1)]
        options = {name: post.options[name] for name in OPTIONS if name in post.options}
        find = partial(self.find, call.list_taken_ids)
        receipts: list[Receipt] = []
        for part, text in enumerate(post.parts, 1):
            key = f"postino-{post.id}-{part}"
            reply_to = receipts[-1].remote_id if receipts else None
            status = Status(account, account_id, key, text, () if receipts else tuple(media), reply_to, options)
            receipts.append(
                await call.once(f"post {part}", self.post, status, found=find, resend=resend_with_key(KEY_LIFE))
            )
        return Published(receipts[0].remote_id, receipts[0].url)

    async def refresh(self, account: Account, http: Http) -> Tokens | Failure:
        """Tokens do not end here; whether they are still taken can be asked."""
        known = await self.verify(http, account)
        return known if isinstance(known, Failure) else Tokens(credentials=account.credentials)

    def classify(self, answer: Answer) -> Failure:
        said, now, status = said_in(answer), self._now(), str(answer.status)
        words = str(said.get("error_description") or said.get("error") or "")
        if row := look_up(TABLE, status, words):
            return Failure(row.kind, row.message, status)
        if answer.status == 422 and not words:
            return by_nobody("The server", answer)  # still busy with a picture, or never: only its words would tell
        reset_at = parse_reset_time(answer.headers.get("x-ratelimit-reset"), now)
        return by_fallback("The server", answer, None, words, now, reset_at)

    # --- Acts

    async def identify(self, http: Http, account: Account) -> str | Failure:
        return account.remote_id or await self.verify(http, account)

    async def verify(self, http: Http, account: Account) -> str | Failure:
        answer = await self._ask(http, account, "GET", "api/v1/accounts/verify_credentials")
        if not answer.ok:
            return self.classify(answer)
        return str(_object(answer)["id"])

    async def upload(self, http: Http, account: Account, media: Media) -> dict[str, Any] | Failure:
        """Inert: nobody sees a file that no status shows."""
        file = await fetch(http, media, MOST_BYTES.get(media.kind, MOST_BYTES["image"]))
        if isinstance(file, Failure):
            return file
        headers, body = multipart({"description": media.alt} if media.alt else {}, {"file": file})
        seconds = upload_seconds(self.timeout, file)
        answer = await self._ask(http, account, "POST", "api/v2/media", headers=headers, body=body, timeout=seconds)
        if not answer.ok:
            return self.classify(answer)
        return {"id": str(_object(answer)["id"]), "ready": answer.status == 200}

    async def is_ready(self, http: Http, account: Account, media_id: str) -> bool | Failure | None:
        answer = await self._ask(http, account, "GET", f"api/v1/media/{media_id}")
        if answer.status == 206:
            return None
        return True if answer.ok else self.classify(answer)

    async def post(self, http: Http, status: Status) -> Receipt | Failure:
        """Visible."""
        body: dict[str, Any] = {"status": status.text, **status.options}
        if status.media:
            body["media_ids"] = list(status.media)
        if status.reply_to:
            body["in_reply_to_id"] = status.reply_to
        key = {"Idempotency-Key": status.key}
        answer = await self._ask(http, status.account, "POST", "api/v1/statuses", headers=key, json=body)
        return _receipt(_object(answer)) if answer.ok else self.classify(answer)

    async def find(self, held: Held, http: Http, intent: Intent, status: Status) -> LookupResult | Failure:
        """By likeness: newer than the intent, nobody else's, the same words, files and place in the thread."""
        since = intent.intended_at - CLOCK_ALLOWANCE
        newer = await self._newer(http, status, since)
        if not isinstance(newer, list):
            return newer
        shaped = [one for one in newer if _same_shape(one, status)]
        others = await held([str(one["id"]) for one in shaped]) if shaped else set()
        alike = []
        for one in shaped:
            if str(one["id"]) not in others:
                same = await self._says(http, one, status)
                if isinstance(same, Failure):
                    return same
                if same:
                    alike.append(one)
        if len(alike) > 1:
            return CannotTell(f"{len(alike)} posts of the account since then say the same.")
        return Found(_receipt(alike[0])) if alike else NotFound()

    # --- What they are made of

    async def _media(self, number: int, media: Media, account: Account, call: Call) -> str:
        uploaded = await call.step(f"media {number}", self.upload, account, media)
        name = str(uploaded["id"])
        if not uploaded["ready"]:
            await call.until(f"media {number} ready", self.is_ready, account, name, every=POLL, patience=PATIENCE)
        return name

    async def _newer(
        self, http: Http, status: Status, since: datetime
    ) -> list[Mapping[str, Any]] | CannotTell | Failure:
        newer: list[Mapping[str, Any]] = []
        place = f"api/v1/accounts/{status.account_id}/statuses"
        before: dict[str, str] = {}
        for _ in range(MOST_PAGES):
            params = {"limit": str(PAGE), "exclude_reblogs": "true", **before}
            answer = await self._ask(http, status.account, "GET", place, params=params)
            if not answer.ok:
                return self.classify(answer)
            listed = answer.json()
            if not isinstance(listed, list):
                raise UnreadableResponse("The list of statuses is none.")
            recent = [one for one in listed if _posted_at(one) >= since]
            newer += recent
            if len(listed) < PAGE or len(recent) < len(listed):
                return newer
            before = {"max_id": str(listed[-1]["id"])}
        return CannotTell(f"There are more than {PAGE * MOST_PAGES} posts of the account since then.")

    async def _says(self, http: Http, one: Mapping[str, Any], status: Status) -> bool | Failure:
        """As it was written, if the server tells; otherwise by what is left of it as a page."""
        answer = await self._ask(http, status.account, "GET", f"api/v1/statuses/{one['id']}/source")
        if answer.ok:
            return same_text(str(_object(answer).get("text")), status.text)
        if answer.status in (404, 405, 501):
            return same_as_page(status.text, str(one.get("content")))
        return self.classify(answer)

    async def _ask(self, http: Http, account: Account, method: str, path: str, **sending: Any) -> Answer:
        token = account.credentials.get("access_token", "").strip()
        if not token:
            return UNKNOWN_CALLER
        headers = sending.pop("headers", {}) | {"Authorization": f"Bearer {token}"}
        return await http.request(method, endpoint(account.base_url, path), headers=headers, **sending)


def _object(answer: Answer) -> Mapping[str, Any]:
    said = answer.json()
    if not isinstance(said, dict) or "id" not in said:
        raise UnreadableResponse("The answer names nothing that was made.")
    return said


def _posted_at(status: Mapping[str, Any]) -> datetime:
    try:
        return datetime.fromisoformat(str(status["created_at"]))
    except (ValueError, KeyError, TypeError):
        raise UnreadableResponse("A status in the list has no date.") from None


def _same_shape(one: Mapping[str, Any], status: Status) -> bool:
    reply_to = one.get("in_reply_to_id")
    files = len(one.get("media_attachments") or [])
    return files == len(status.media) and (str(reply_to) if reply_to else None) == status.reply_to


def _receipt(said: Mapping[str, Any]) -> Receipt:
    url = said.get("url") or said.get("uri")
    return Receipt(remote_id=str(said["id"]), url=str(url) if url else None)


NETWORK = Mastodon()
