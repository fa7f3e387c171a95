"""Bluesky. Postino chooses the key of each record, so sending a record again creates no second one."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import Any

from postino import clock
from postino.providers import atproto
from postino.providers.bluesky_session import BlueskySessions
from postino.providers.error_codes import (
    Clock,
    ErrorRule,
    classify_by_status,
    classify_unreadable,
    find_rule,
    parse_object,
)
from postino.providers.media_download import compute_upload_timeout, download_media
from postino.providers.urls import build_page_url
from postino.rules.failures import parse_reset_time
from postino.values.provider import (
    DERIVED_HANDLE,
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
    LostResponse,
    Media,
    NotFound,
    NotSent,
    Post,
    Promise,
    PromiseClass,
    Published,
    Receipt,
    Tokens,
    UnreadableResponse,
)

COLLECTION = "app.bsky.feed.post"
CONTENT = ("$type", "text", "embed", "reply")  # what makes a record this post
MAX_DOWNLOAD_BYTES = {"image": 10_000_000, "video": 300_000_000}

RECONNECT = "Create a new app password in Bluesky's settings and reconnect the account."
BLOB_GONE = "BlobNotFound"
BLOB_LIFETIME = timedelta(hours=1)  # so long servers keep an uploaded file that no record contains, at least
ERRORS = (
    ErrorRule(
        FailureKind.AUTH,
        f"The Bluesky session of this account has expired. {RECONNECT}",
        ("ExpiredToken", "InvalidToken"),
    ),
    ErrorRule(
        FailureKind.AUTH,
        f"Bluesky refused the user name or the password of this account. {RECONNECT}",
        ("AuthenticationRequired", "AuthMissing"),
    ),
    ErrorRule(
        FailureKind.AUTH,
        f"Bluesky asks for a second factor with this password. {RECONNECT}",
        ("AuthFactorTokenRequired",),
    ),
    ErrorRule(
        FailureKind.SUSPENDED,
        "Bluesky has closed or suspended this account. Sign in to Bluesky to see why, then reconnect the account.",
        ("AccountTakedown", "AccountSuspended", "AccountDeactivated", "RepoTakendown", "RepoSuspended"),
    ),
    ErrorRule(
        FailureKind.DOUBT,
        "Bluesky already has a record with the key of this post. Postino looks it up first.",
        ("InvalidSwap",),
    ),
    ErrorRule(
        FailureKind.PERMANENT,
        "The text is too long for Bluesky. Shorten it and publish again.",
        pattern=r"text must not be longer|(grapheme|string) too big.{0,200}\.text",
    ),
    ErrorRule(
        FailureKind.PERMANENT,
        "There are too many images for one Bluesky post. Remove some and publish again.",
        pattern=r"images must not have more|array too big.{0,200}images",
    ),
    ErrorRule(
        FailureKind.PERMANENT,
        "A file is too large for Bluesky. Make it smaller and publish again.",
        pattern=r"too (large|big)",
    ),
    ErrorRule(
        FailureKind.PERMANENT,
        "Bluesky does not accept this type of file. Choose another type and publish again.",
        pattern=r"mime",
    ),
    ErrorRule(
        FailureKind.PERMANENT,
        "Bluesky no longer has an uploaded file. Upload it again and publish again.",
        (BLOB_GONE,),
    ),
)


class Bluesky:
    name = "bluesky"
    title = "Bluesky"
    promise = Promise(
        PromiseClass.A,
        "Postino chooses the key of every post before it sends the post. After a lost response, it looks the post up "
        "by that key, and sending the post again creates no second one.",
    )
    timeout = timedelta(seconds=30)
    listing_delay = timedelta(seconds=5)
    default_base_url = "https://bsky.social"
    credentials: Mapping[str, Credential] = {
        "identifier": Credential("User name", is_handle=True),
        "password": Credential(
            "App password (Settings → Privacy and security → App passwords)", unless="refresh_token"
        ),
    }
    limits: Mapping[str, Any] = {
        "checked": date(2026, 11, 16),
        "source": "lexicons app.bsky.feed.post, app.bsky.embed.images and app.bsky.embed.video;"
        " 301 graphemes tried on PDS 0.4.217",
        "text": [{"measure": "graphemes", "most": 300}, {"measure": "bytes", "most": 3000}],
        "threads": True,
        "media": {
            "most": 4,
            # Servers that still have the lexicon from before April 2026 take 1,000,000 bytes.
            "image": {"most": 4, "types": ["jpg", "png", "webp", "gif"], "bytes": 2_000_000},
            "video": {"most": 1, "types": ["mp4"], "bytes": 300_000_000},
        },
    }
    quotas: Sequence[Mapping[str, Any]] = [
        {
            "name": "points per hour",
            "most": 5_000,
            "period": {"hours": 1},
            "whose": "account",
            "costs": {"post": 3},
            "checked": date(2026, 11, 16),
            "source": "the PDS's source, repo-write-hour: three points for a new record, two for a put; three are"
            " counted, as its documentation says",
        },
        {
            "name": "points per day",
            "most": 35_000,
            "period": {"days": 1},
            "whose": "account",
            "costs": {"post": 3},
            "checked": date(2026, 11, 16),
            "source": "the PDS's source, repo-write-day; points as per hour",
        },
    ]

    def __init__(self, now: Clock = clock.now) -> None:
        self._now = now
        self._sessions = BlueskySessions(self.classify)

    async def publish(self, post: Post, call: Call) -> Published:
        files = [
            await call.step(f"media {number}", self.upload, post.account, media)
            for number, media in enumerate(post.media, 1)
        ]
        receipts: list[Receipt] = []
        thread: list[dict[str, str]] = []
        for part, text in enumerate(post.parts, 1):
            if receipts:
                thread.append(await self._find_reference(post.account, part - 1, receipts[-1], call))
            attached = files if part == 1 else []
            record = await call.step(f"record {part}", self.compose, post.account, text, attached, thread)
            write = (post.account, atproto.derive_record_key(post.id, part), record, post.media if attached else ())
            receipts.append(
                await call.once(
                    f"post {part}", self.put, *write, found=self.find, resend=DERIVED_HANDLE, prepare=self.renew_blobs
                )
            )
        return Published(receipts[0].remote_id, receipts[0].url)

    async def refresh(self, account: Account, http: Http) -> Tokens | Failure:
        if "password" not in account.credentials:
            return await self._sessions.renew(http, account)
        session = await self._sessions.create(http, account)
        return session if isinstance(session, Failure) else Tokens(credentials=account.credentials)

    def classify(self, answer: Answer) -> Failure:
        body, now = parse_object(answer), self._now()
        code, text = str(body.get("error") or "") or None, str(body.get("message") or "")
        # A 5xx response never counts as a refusal, whatever error it names.
        if answer.status < 500 and (rule := find_rule(ERRORS, code, text)):
            return Failure(rule.kind, rule.message, code)
        if answer.status == 400 and code is None:
            return classify_unreadable("Bluesky", answer)  # only the missing error code would tell what is wrong
        reset_at = parse_reset_time(answer.headers.get("ratelimit-reset"), now, answer.headers)
        return classify_by_status("Bluesky", answer, code, text, now, reset_at)

    # --- Steps

    async def upload(self, http: Http, account: Account, media: Media) -> dict[str, Any] | Failure:
        """Upload a file. Inert: the same bytes get the same blob, and nobody sees a blob that no record contains."""
        file = await download_media(http, media, MAX_DOWNLOAD_BYTES.get(media.kind, MAX_DOWNLOAD_BYTES["image"]))
        if isinstance(file, Failure):
            return file
        options = {"headers": {"Content-Type": file.type}, "timeout": compute_upload_timeout(self.timeout, file)}
        answer = await self._sessions.call(
            http, account, "POST", "com.atproto.repo.uploadBlob", body=file.data, inert=True, **options
        )
        if isinstance(answer, Failure):
            return answer
        if not answer.ok:
            return self.classify(answer)
        match answer.json():
            case {"blob": dict(blob)}:
                return {"blob": blob, "alt": media.alt, "kind": media.kind}
        raise UnreadableResponse("Bluesky's response to an upload contains no blob.")

    async def compose(
        self,
        http: Http,
        account: Account,
        text: str,
        files: Sequence[Mapping[str, Any]],
        thread: Sequence[Mapping[str, str]],
    ) -> dict[str, Any] | Failure:
        """Build the record. The step stores it, so a repeated send is the same to the byte."""
        record: dict[str, Any] = {"$type": COLLECTION, "text": text, "createdAt": atproto.format_timestamp(self._now())}
        facets = []
        for span in atproto.find_spans(text):
            value = await self._resolve_handle(http, account, span.value) if span.kind == "mention" else span.value
            if isinstance(value, Failure):
                return value
            if value is not None:
                facets.append(span.to_facet(value))
        if facets:
            record["facets"] = facets
        if embed := atproto.build_embed(files):
            record["embed"] = embed
        if thread:
            record["reply"] = {"root": dict(thread[0]), "parent": dict(thread[-1])}
        return record

    async def renew_blobs(
        self, http: Http, account: Account, key: str, record: Mapping[str, Any], media: Sequence[Media]
    ) -> None:
        """Upload the files of an old record again, before the time to send begins.

        Bluesky may have deleted them. If the upload fails, they may still be there: the call itself shows it.
        """
        if not media or self._now() - datetime.fromisoformat(record["createdAt"]) < BLOB_LIFETIME:
            return
        for file in media:
            with suppress(NotSent, LostResponse):
                await self.upload(http, account, file)

    async def put(
        self, http: Http, _: None, account: Account, key: str, record: Mapping[str, Any], media: Sequence[Media]
    ) -> Receipt | Failure:
        """Create the record, unless exactly this record exists. Never replaces another. Visible."""
        answer = await self._put_record(http, account, key, record)
        if isinstance(answer, Answer) and parse_object(answer).get("error") == BLOB_GONE:
            # Bluesky deletes uploaded files that no record contains after a while. The same bytes get the same blob.
            for file in media:
                uploaded = await self.upload(http, account, file)
                if isinstance(uploaded, Failure):
                    return uploaded
            answer = await self._put_record(http, account, key, record)
        if isinstance(answer, Failure):
            return answer
        return _to_receipt(account, answer.json()) if answer.ok else self.classify(answer)

    async def find(
        self, http: Http, intent: Intent, account: Account, key: str, record: Mapping[str, Any], media: Sequence[Media]
    ) -> LookupResult | Failure:
        existing = await self._get_record(http, account, key)
        match existing:
            case None:
                return NotFound()
            case Failure():
                return existing
            case {"value": dict(value)} if _has_same_content(value, record):
                return Found(_to_receipt(account, existing))
        return CannotTell("Bluesky has a different record with the key of this post.")

    async def get_reference(self, http: Http, account: Account, remote_id: str) -> dict[str, str] | Failure:
        """Return what a reply needs to know about a post whose id a person entered."""
        existing = await self._get_record(http, account, remote_id.rstrip("/").rpartition("/")[2])
        if existing is None:
            message = "The post that the next part replies to is not on Bluesky. Publish the rest as a new post."
            return Failure(FailureKind.PERMANENT, message, "RecordNotFound")
        return existing if isinstance(existing, Failure) else _to_reference(_to_receipt(account, existing))

    # --- Helpers

    async def _find_reference(self, account: Account, part: int, receipt: Receipt, call: Call) -> dict[str, str]:
        if "cid" in receipt.data:
            return _to_reference(receipt)
        reference: dict[str, str] = await call.step(f"reference {part}", self.get_reference, account, receipt.remote_id)
        return reference

    async def _put_record(self, http: Http, account: Account, key: str, record: Mapping[str, Any]) -> Answer | Failure:
        session = await self._sessions.get(http, account)
        if isinstance(session, Failure):
            return session
        content = {"repo": session.did, "collection": COLLECTION, "rkey": key, "record": record, "swapRecord": None}
        return await self._sessions.call(http, account, "POST", "com.atproto.repo.putRecord", json=content)

    async def _get_record(self, http: Http, account: Account, key: str) -> Mapping[str, Any] | Failure | None:
        session = await self._sessions.get(http, account)
        if isinstance(session, Failure):
            return session
        params = {"repo": session.did, "collection": COLLECTION, "rkey": key}
        answer = await self._sessions.call(http, account, "GET", "com.atproto.repo.getRecord", params=params)
        if isinstance(answer, Failure):
            return answer
        if answer.ok:
            match answer.json():
                case dict(record):
                    return record
            raise UnreadableResponse("Bluesky's response contains no record.")
        return None if parse_object(answer).get("error") == "RecordNotFound" else self.classify(answer)

    async def _resolve_handle(self, http: Http, account: Account, handle: str) -> str | Failure | None:
        """Return the DID of a mentioned handle; None if nobody has that handle, and the mention stays plain text."""
        answer = await self._sessions.call(
            http, account, "GET", "com.atproto.identity.resolveHandle", params={"handle": handle}
        )
        if isinstance(answer, Failure):
            return answer
        if answer.ok:
            match answer.json():
                case {"did": str(did)}:
                    return did
            raise UnreadableResponse("Bluesky's response contains no DID.")
        failure = self.classify(answer)
        is_unknown = failure.kind is FailureKind.PERMANENT or answer.status == 501
        return None if is_unknown else failure


def _has_same_content(existing: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    """Return whether a record with our key is ours.

    A restored database may have lost the stored record. Composed again, it has another `createdAt`, and a mention may
    resolve to something else.
    """
    return all(existing.get(name) == record.get(name) for name in CONTENT)


def _to_receipt(account: Account, body: Any) -> Receipt:
    match body:
        case {"uri": str(uri), "cid": str(cid)}:
            did, _, key = split_uri(uri)
            url = build_page_url(account.base_url, f"https://bsky.app/profile/{did}/post/{key}")
            return Receipt(remote_id=uri, url=url, data={"cid": cid})
    raise UnreadableResponse("Bluesky's response contains no record.")


def split_uri(uri: str) -> tuple[str, str, str]:
    """Return the DID, collection and key of a record's URI."""
    match uri.removeprefix("at://").split("/"):
        case [did, collection, key]:
            return did, collection, key
    raise UnreadableResponse("Bluesky's response contains no URI of a record.")


def _to_reference(receipt: Receipt) -> dict[str, str]:
    return {"uri": receipt.remote_id, "cid": str(receipt.data["cid"])}


NETWORK = Bluesky()
