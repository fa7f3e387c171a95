"""Mastodon. A server recognises a repeated request by its idempotency key for an hour, and lists an account's posts.

Servers of other software speak the same API, and may ignore the key and change a post: on those, "not in the list"
never leads to a second request.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

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
from postino.providers.mastodon_software import SoftwareByServer
from postino.providers.mastodon_status import (
    Status,
    describe_absence,
    has_same_files,
    has_same_place,
    may_have_same_files,
    parse_created_at,
    read_object,
    to_receipt,
)
from postino.providers.media_download import compute_upload_timeout, download_media
from postino.providers.multipart import encode_multipart
from postino.providers.text_match import is_same_as_html, is_same_text
from postino.providers.urls import join_url
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
    Http,
    Intent,
    LookupResult,
    Media,
    NotFound,
    Post,
    Promise,
    PromiseClass,
    Published,
    Receipt,
    Tokens,
    UnreadableResponse,
    resend_with_key,
)

MAX_DOWNLOAD_BYTES = {"image": 20_000_000, "video": 110_000_000}
OPTIONS = ("visibility", "sensitive", "spoiler_text", "language")
# Servers keep an idempotency key for an hour after they stored the status. The margin covers a repeat under way.
KEY_LIFETIME = timedelta(minutes=50)
# Servers date statuses by their own clock, which may be wrong by this much. A person who posts the same text by hand
# so shortly before its scheduled time is rarer than a wrong clock.
CLOCK_ALLOWANCE = timedelta(seconds=30)
PAGE_SIZE, MAX_PAGES = 40, 5
POLL_EVERY, POLL_TIMEOUT = timedelta(seconds=2), timedelta(minutes=15)

RECONNECT = "Reconnect the account."
ERRORS = (
    ErrorRule(FailureKind.AUTH, f"Mastodon no longer accepts the access token of this account. {RECONNECT}", ("401",)),
    ErrorRule(
        FailureKind.AUTH,
        f"The access token does not allow publishing. {RECONNECT} Allow it to write posts and media.",
        ("403",),
        r"scope",
    ),
    ErrorRule(
        FailureKind.SUSPENDED,
        "The server has blocked this account or not yet approved it. Sign in to see why, then reconnect the account.",
        ("403",),
        r"disabled|suspended|pending|confirmed|frozen",
    ),
    ErrorRule(
        FailureKind.PERMANENT,
        "The text is too long for this server. Shorten it and publish again.",
        ("422",),
        r"character limit|too long",
    ),
    ErrorRule(
        FailureKind.PERMANENT, "A post needs text or media. Add some and publish again.", ("422",), r"can't be blank"
    ),
    ErrorRule(
        FailureKind.TRANSIENT,
        "The server is still processing an image or a video. Postino tries again.",
        ("422",),
        r"not finished processing",
    ),
    ErrorRule(
        FailureKind.PERMANENT,
        "This server does not accept this number or combination of files. Remove some and publish again.",
        ("422",),
        r"Cannot attach",
    ),
    ErrorRule(
        FailureKind.PERMANENT,
        "The server no longer has an uploaded file. Upload it again and publish again.",
        ("422",),
        r"Media .{0,200}not found|already attached",
    ),
    ErrorRule(
        FailureKind.PERMANENT, "A file is too large for this server. Make it smaller and publish again.", ("413",)
    ),
    ErrorRule(
        FailureKind.PERMANENT,
        "A file is too large for this server. Make it smaller and publish again.",
        ("422",),
        r"file size|too large",
    ),
    ErrorRule(
        FailureKind.PERMANENT,
        "The server does not accept this type of file. Choose another type and publish again.",
        ("422",),
        r"File.{0,200}(invalid|supported)|content type|processing",
    ),
    ErrorRule(
        FailureKind.PERMANENT,
        "The post that this part of the thread replies to does not exist any more. Publish the rest as a new post.",
        ("404",),
        r"reply",
    ),
)

ListTakenIds = Callable[[list[str]], Awaitable[set[str]]]


class Mastodon:
    name = "mastodon"
    title = "Mastodon"
    promise = Promise(
        PromiseClass.B,
        "The server recognises a repeated request by its idempotency key for an hour, and creates no second post. "
        "After a lost response, Postino looks for the post among the newest posts of the account. If the post is "
        "missing, Postino sends it again, but only within 50 minutes, and only to a server that runs Mastodon itself; "
        "otherwise a person decides.",
    )
    timeout = timedelta(seconds=30)
    listing_delay = timedelta(seconds=60)  # a server behind a proxy that timed out stored a status this late
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

    def __init__(self, now: Clock = clock.now) -> None:
        self._now = now
        self._software = SoftwareByServer()

    async def publish(self, post: Post, call: Call) -> Published:
        account = post.account
        # Always a step, even if the id is known: reconnecting the account must not change the order of the steps.
        account_id = await call.step("account", self.identify, account)
        media_ids = [
            await self._upload_media(number, media, account, call) for number, media in enumerate(post.media, 1)
        ]
        options = {name: post.options[name] for name in OPTIONS if name in post.options}
        find = partial(self.find, call.list_taken_ids)
        receipts: list[Receipt] = []
        for part, text in enumerate(post.parts, 1):
            key = f"postino-{post.id}-{part}"
            reply_to = receipts[-1].remote_id if receipts else None
            status = Status(account, account_id, key, text, () if receipts else tuple(media_ids), reply_to, options)
            resend = resend_with_key(KEY_LIFETIME, is_derived=True)
            receipts.append(await call.once(f"post {part}", self.post, status, found=find, resend=resend))
        return Published(receipts[0].remote_id, receipts[0].url)

    async def refresh(self, account: Account, http: Http) -> Tokens | Failure:
        """Check that the server still accepts the token. Mastodon's tokens do not expire."""
        account_id = await self.verify(http, account)
        return account_id if isinstance(account_id, Failure) else Tokens(credentials=account.credentials)

    def classify(self, answer: Answer) -> Failure:
        body, now, status = parse_object(answer), self._now(), str(answer.status)
        text = str(body.get("error_description") or body.get("error") or "")
        if rule := find_rule(ERRORS, status, text):
            return Failure(rule.kind, rule.message, status)
        if answer.status == 422 and not text:
            # Either media is still being processed or the post is refused for good. Only the text would tell.
            return classify_unreadable("Mastodon", answer)
        reset_at = parse_reset_time(answer.headers.get("x-ratelimit-reset"), now, answer.headers)
        return classify_by_status("Mastodon", answer, None, text, now, reset_at)

    # --- Steps

    async def identify(self, http: Http, account: Account) -> str | Failure:
        return account.remote_id or await self.verify(http, account)

    async def verify(self, http: Http, account: Account) -> str | Failure:
        answer = await self._call(http, account, "GET", "api/v1/accounts/verify_credentials")
        if not answer.ok:
            return self.classify(answer)
        return str(read_object(answer)["id"])

    async def upload(self, http: Http, account: Account, media: Media) -> dict[str, Any] | Failure:
        """Upload a file. Inert: nobody sees a file that no status contains."""
        file = await download_media(http, media, MAX_DOWNLOAD_BYTES.get(media.kind, MAX_DOWNLOAD_BYTES["image"]))
        if isinstance(file, Failure):
            return file
        headers, body = encode_multipart({"description": media.alt} if media.alt else {}, {"file": file})
        seconds = compute_upload_timeout(self.timeout, file)
        answer = await self._call(http, account, "POST", "api/v2/media", headers=headers, body=body, timeout=seconds)
        if not answer.ok:
            return self.classify(answer)
        return {"id": str(read_object(answer)["id"]), "ready": answer.status == 200}

    async def is_ready(self, http: Http, account: Account, media_id: str) -> bool | Failure | None:
        answer = await self._call(http, account, "GET", f"api/v1/media/{media_id}")
        if answer.status == 206:
            return None
        return True if answer.ok else self.classify(answer)

    async def post(self, http: Http, status: Status) -> Receipt | Failure:
        """Post a status. Visible."""
        body: dict[str, Any] = {"status": status.text, **status.options}
        if status.media:
            body["media_ids"] = list(status.media)
        if status.reply_to:
            body["in_reply_to_id"] = status.reply_to
        key = {"Idempotency-Key": status.key}
        answer = await self._call(http, status.account, "POST", "api/v1/statuses", headers=key, json=body)
        return to_receipt(read_object(answer)) if answer.ok else self.classify(answer)

    async def find(
        self, list_taken_ids: ListTakenIds, http: Http, intent: Intent, status: Status
    ) -> LookupResult | Failure:
        """Look for the status: newer than the intent, of no other job, same text, files and place in the thread."""
        since = intent.intended_at - CLOCK_ALLOWANCE
        recent = await self._list_since(http, status, since)
        if not isinstance(recent, list):
            return recent
        candidates = [it for it in recent if has_same_place(it, status)]
        held = await list_taken_ids([str(it["id"]) for it in candidates]) if candidates else set()
        free = [it for it in candidates if str(it["id"]) not in held]
        matches = await self._filter_same_text(http, [it for it in free if has_same_files(it, status)], status)
        if matches == []:
            software = await self._software.identify(http, status.account.base_url, self._now())
            if isinstance(software, Answer):
                return self.classify(software)
            if software.honours_key():
                return NotFound()
            matches = await self._filter_same_text(http, [it for it in free if may_have_same_files(it, status)], status)
            if matches == []:
                return CannotTell(describe_absence(str(software)))
        if isinstance(matches, Failure):
            return matches
        if len(matches) > 1:
            return CannotTell(f"{len(matches)} posts of the account since then have the same text.")
        return Found(to_receipt(matches[0]))

    # --- Helpers

    async def _upload_media(self, number: int, media: Media, account: Account, call: Call) -> str:
        uploaded = await call.step(f"media {number}", self.upload, account, media)
        media_id = str(uploaded["id"])
        if not uploaded["ready"]:
            await call.until(
                f"media {number} ready", self.is_ready, account, media_id, every=POLL_EVERY, patience=POLL_TIMEOUT
            )
        return media_id

    async def _list_since(
        self, http: Http, status: Status, since: datetime
    ) -> list[Mapping[str, Any]] | CannotTell | Failure:
        recent: list[Mapping[str, Any]] = []
        path = f"api/v1/accounts/{status.account_id}/statuses"
        before: dict[str, str] = {}
        for _ in range(MAX_PAGES):
            params = {"limit": str(PAGE_SIZE), "exclude_reblogs": "true", **before}
            answer = await self._call(http, status.account, "GET", path, params=params)
            if not answer.ok:
                return self.classify(answer)
            page = answer.json()
            if not isinstance(page, list):
                raise UnreadableResponse("Mastodon's response is not a list of statuses.")
            newer = [it for it in page if parse_created_at(it) >= since]
            recent += newer
            if len(page) < PAGE_SIZE or len(newer) < len(page):
                return recent
            before = {"max_id": str(page[-1]["id"])}
        return CannotTell(f"The account has more than {PAGE_SIZE * MAX_PAGES} posts since then.")

    async def _filter_same_text(
        self, http: Http, candidates: Sequence[Mapping[str, Any]], status: Status
    ) -> list[Mapping[str, Any]] | Failure:
        matches = []
        for candidate in candidates:
            same = await self._has_same_text(http, candidate, status)
            if isinstance(same, Failure):
                return same
            if same:
                matches.append(candidate)
        return matches

    async def _has_same_text(self, http: Http, candidate: Mapping[str, Any], status: Status) -> bool | Failure:
        """Compare with the source text if the server shows it, otherwise with the HTML."""
        answer = await self._call(http, status.account, "GET", f"api/v1/statuses/{candidate['id']}/source")
        if answer.ok:
            return is_same_text(str(read_object(answer).get("text")), status.text)
        if answer.status in (404, 405, 501):
            return is_same_as_html(status.text, str(candidate.get("content")))
        return self.classify(answer)

    async def _call(self, http: Http, account: Account, method: str, path: str, **content: Any) -> Answer:
        token = account.credentials.get("access_token", "").strip()
        if not token:
            return MISSING_TOKEN
        headers = content.pop("headers", {}) | {"Authorization": f"Bearer {token}"}
        return await http.request(method, join_url(account.base_url, path), headers=headers, **content)


NETWORK = Mastodon()
