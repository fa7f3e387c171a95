"""Bluesky: a record under a key we choose, so that sending it again is the same record."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from postino.providers import atproto
from postino.providers.bluesky_session import Sessions
from postino.providers.error_codes import Clock, Row, by_fallback, by_nobody, look_up, said_in, utc_now
from postino.providers.media_download import fetch, upload_seconds
from postino.providers.urls import page
from postino.rules.failures import parse_reset_time
from postino.values.provider import (
    SAME_HANDLE,
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
)

COLLECTION = "app.bsky.feed.post"
MOST_BYTES = {"image": 10_000_000, "video": 300_000_000}

RECONNECT = "Make a new app password in Bluesky's settings and reconnect the account with it."
BLOB_GONE = "BlobNotFound"
TABLE = (
    Row(FailureKind.AUTH, f"Bluesky's session of this account is over. {RECONNECT}", ("ExpiredToken", "InvalidToken")),
    Row(
        FailureKind.AUTH,
        f"Bluesky refuses the user name or the password of this account. {RECONNECT}",
        ("AuthenticationRequired", "AuthMissing"),
    ),
    Row(FailureKind.AUTH, f"Bluesky wants a code with this password. {RECONNECT}", ("AuthFactorTokenRequired",)),
    Row(
        FailureKind.PERMANENT,
        "Bluesky has closed or suspended this account. Sign in at Bluesky to see why; then publish the post again.",
        ("AccountTakedown", "AccountSuspended", "AccountDeactivated", "RepoTakendown", "RepoSuspended"),
    ),
    Row(
        FailureKind.DOUBT,
        "Bluesky already has something under the key of this post. Postino looks what it is.",
        ("InvalidSwap",),
    ),
    Row(
        FailureKind.PERMANENT,
        "The text is too long for Bluesky. Shorten it and publish it again.",
        pattern=r"text must not be longer|(grapheme|string) too big.*\.text",
    ),
    Row(
        FailureKind.PERMANENT,
        "Bluesky does not take so many pictures in one post. Take some out and publish it again.",
        pattern=r"images must not have more|array too big.*images",
    ),
    Row(
        FailureKind.PERMANENT,
        "A file is too large for Bluesky. Make it smaller and publish the post again.",
        pattern=r"too (large|big)",
    ),
    Row(
        FailureKind.PERMANENT,
        "Bluesky does not take files of this type. Choose another one and publish the post again.",
        pattern=r"mime",
    ),
    Row(
        FailureKind.PERMANENT,
        "Bluesky has lost an uploaded file. Upload it again and publish the post again.",
        (BLOB_GONE,),
    ),
)


class Bluesky:
    name = "bluesky"
    title = "Bluesky"
    promise = Promise(
        Grade.A,
        "Every post has a key that Postino chooses beforehand: after a lost answer it asks for the post by that key, "
        "and sending the same again makes no second one.",
    )
    timeout = timedelta(seconds=30)
    visibility = timedelta(seconds=5)
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

    def __init__(self, now: Clock = utc_now) -> None:
        self._now = now
        self._sessions = Sessions(self.classify)

    async def publish(self, post: Post, call: Call) -> Published:
        files = [
            await call.step(f"media {number}", self.upload, post.account, media)
            for number, media in enumerate(post.media, 1)
        ]
        receipts: list[Receipt] = []
        thread: list[dict[str, str]] = []
        for part, text in enumerate(post.parts, 1):
            if receipts:
                thread.append(await self._reference(post.account, part - 1, receipts[-1], call))
            shown = files if part == 1 else []
            record = await call.step(f"record {part}", self.compose, post.account, text, shown, thread)
            sending = (post.account, atproto.key_of(post.id, part), record, post.media if shown else ())
            receipts.append(await call.once(f"post {part}", self.put, *sending, found=self.find, resend=SAME_HANDLE))
        return Published(receipts[0].remote_id, receipts[0].url)

    async def refresh(self, account: Account, http: Http) -> Tokens | Failure:
        if "password" not in account.credentials:
            return await self._sessions.renew(http, account)
        session = await self._sessions.create(http, account)
        return session if isinstance(session, Failure) else Tokens(credentials=account.credentials)

    def classify(self, answer: Answer) -> Failure:
        said, now = said_in(answer), self._now()
        code, words = str(said.get("error") or "") or None, str(said.get("message") or "")
        # A server in trouble is in trouble, whatever it names it: nothing it says then is a verdict.
        if answer.status < 500 and (row := look_up(TABLE, code, words)):
            return Failure(row.kind, row.message, code)
        if answer.status == 400 and code is None:
            return by_nobody("Bluesky", answer)  # signed out, too long, not there: only its name would tell
        reset_at = parse_reset_time(answer.headers.get("ratelimit-reset"), now)
        return by_fallback("Bluesky", answer, code, words, now, reset_at)

    # --- Acts

    async def upload(self, http: Http, account: Account, media: Media) -> dict[str, Any] | Failure:
        """Inert: the same bytes are the same blob, and nobody sees one that no record names."""
        file = await fetch(http, media, MOST_BYTES.get(media.kind, MOST_BYTES["image"]))
        if isinstance(file, Failure):
            return file
        sending = {"headers": {"Content-Type": file.type}, "timeout": upload_seconds(self.timeout, file)}
        answer = await self._sessions.ask(
            http, account, "POST", "com.atproto.repo.uploadBlob", body=file.data, **sending
        )
        if isinstance(answer, Failure):
            return answer
        if not answer.ok:
            return self.classify(answer)
        match answer.json():
            case {"blob": dict(blob)}:
                return {"blob": blob, "alt": media.alt, "kind": media.kind}
        raise UnreadableResponse("Bluesky's answer to an upload names no blob.")

    async def compose(
        self,
        http: Http,
        account: Account,
        text: str,
        files: Sequence[Mapping[str, Any]],
        thread: Sequence[Mapping[str, str]],
    ) -> dict[str, Any] | Failure:
        """The record as it will stay: remembered, it is the same to the byte whenever it is sent."""
        record: dict[str, Any] = {"$type": COLLECTION, "text": text, "createdAt": atproto.timestamp(self._now())}
        facets = []
        for span in atproto.spans(text):
            value = await self._resolve(http, account, span.value) if span.kind == "mention" else span.value
            if isinstance(value, Failure):
                return value
            if value is not None:
                facets.append(span.facet(value))
        if facets:
            record["facets"] = facets
        if embed := atproto.embed(files):
            record["embed"] = embed
        if thread:
            record["reply"] = {"root": dict(thread[0]), "parent": dict(thread[-1])}
        return record

    async def put(
        self, http: Http, account: Account, key: str, record: Mapping[str, Any], media: Sequence[Media]
    ) -> Receipt | Failure:
        """Visible. The record is created, or already there just so; it never replaces another."""
        answer = await self._write(http, account, key, record)
        if isinstance(answer, Answer) and said_in(answer).get("error") == BLOB_GONE:
            # Files that nothing shows yet are cleared away after a while. The same bytes are the same blob again.
            for one in media:
                uploaded = await self.upload(http, account, one)
                if isinstance(uploaded, Failure):
                    return uploaded
            answer = await self._write(http, account, key, record)
        if isinstance(answer, Failure):
            return answer
        return _receipt(account, answer.json()) if answer.ok else self.classify(answer)

    async def find(
        self, http: Http, intent: Intent, account: Account, key: str, record: Mapping[str, Any], media: Sequence[Media]
    ) -> LookupResult | Failure:
        there = await self._get(http, account, key)
        match there:
            case None:
                return NotFound()
            case Failure():
                return there
            case {"value": value} if value == record:
                return Found(_receipt(account, there))
        return CannotTell("Bluesky has another record under the key of this post.")

    async def get_reference(self, http: Http, account: Account, remote_id: str) -> dict[str, str] | Failure:
        """What a reply needs to know about a post that a person found."""
        there = await self._get(http, account, remote_id.rstrip("/").rpartition("/")[2])
        if there is None:
            message = "The post that the next part answers to is not on Bluesky. Publish the rest as a new post."
            return Failure(FailureKind.PERMANENT, message, "RecordNotFound")
        return there if isinstance(there, Failure) else _named(_receipt(account, there))

    # --- What they are made of

    async def _reference(self, account: Account, part: int, receipt: Receipt, call: Call) -> dict[str, str]:
        if "cid" in receipt.data:
            return _named(receipt)
        known: dict[str, str] = await call.step(f"reference {part}", self.get_reference, account, receipt.remote_id)
        return known

    async def _write(self, http: Http, account: Account, key: str, record: Mapping[str, Any]) -> Answer | Failure:
        session = await self._sessions.of(http, account)
        if isinstance(session, Failure):
            return session
        writing = {"repo": session.did, "collection": COLLECTION, "rkey": key, "record": record, "swapRecord": None}
        return await self._sessions.ask(http, account, "POST", "com.atproto.repo.putRecord", json=writing)

    async def _get(self, http: Http, account: Account, key: str) -> Mapping[str, Any] | Failure | None:
        session = await self._sessions.of(http, account)
        if isinstance(session, Failure):
            return session
        place = {"repo": session.did, "collection": COLLECTION, "rkey": key}
        answer = await self._sessions.ask(http, account, "GET", "com.atproto.repo.getRecord", params=place)
        if isinstance(answer, Failure):
            return answer
        if answer.ok:
            there: Mapping[str, Any] = answer.json()
            return there
        return None if said_in(answer).get("error") == "RecordNotFound" else self.classify(answer)

    async def _resolve(self, http: Http, account: Account, handle: str) -> str | Failure | None:
        """Whom a mention means; None if nobody has that name: it then stays mere text."""
        answer = await self._sessions.ask(
            http, account, "GET", "com.atproto.identity.resolveHandle", params={"handle": handle}
        )
        if isinstance(answer, Failure):
            return answer
        if answer.ok:
            return str(answer.json()["did"])
        failure = self.classify(answer)
        nobody = failure.kind is FailureKind.PERMANENT or answer.status == 501
        return None if nobody else failure


def _receipt(account: Account, said: Any) -> Receipt:
    match said:
        case {"uri": str(uri), "cid": str(cid)}:
            did, _, key = uri.removeprefix("at://").split("/")
            url = page(account.base_url, f"https://bsky.app/profile/{did}/post/{key}")
            return Receipt(remote_id=uri, url=url, data={"cid": cid})
    raise UnreadableResponse("Bluesky's answer names no record.")


def _named(receipt: Receipt) -> dict[str, str]:
    return {"uri": receipt.remote_id, "cid": str(receipt.data["cid"])}


NETWORK = Bluesky()
