"""Bluesky: records under keys the caller chooses. The same record under the same key is the same record."""

import base64
import hashlib
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar

import regex

from postino.sandbox.network import Ask, Doubt, Endpoint, Membership, Network, Refused, Reply, secret_of, whole_number
from postino.sandbox.network_state import Account, File, Memory, Thing

POST = "app.bsky.feed.post"
RECORD = "record"
BLOB = "blob"
TID = re.compile(r"[234567abcdefghij][234567a-z]{12}")
TID_LETTERS = "234567abcdefghijklmnopqrstuvwxyz"
RECORD_FIELDS = {"$type", "text", "createdAt", "langs", "facets", "embed", "reply", "tags", "labels", "entities"}
MOST_GRAPHEMES, MOST_BYTES, MOST_IMAGES, LARGEST_IMAGE, MOST_LISTED = 300, 3000, 4, 1_000_000, 100


class Bluesky(Network):
    name = "bluesky"
    title = "Bluesky"
    colour = "#1185fe"
    icon = (
        "M12 11C10.5 8 7.5 5 4.5 4.5 3 4.3 2.5 5 2.6 6.5c.1 2.2.6 4.6 1.3 5.6.8 1.2 2.2 1.5 3.6 "
        "1.4-2.2.5-3.6 1.6-2.4 3.6 1.6 2.6 4.9 2.3 6.9-1.6 2 3.9 5.3 4.2 6.9 1.6 1.2-2-.2-3.1-2.4-3.6 "
        "1.4.1 2.8-.2 3.6-1.4.7-1 1.2-3.4 1.3-5.6.1-1.5-.4-2.2-1.9-2C16.5 5 13.5 8 12 11z"
    )
    handle = "postcard.test"
    settings: ClassVar[Mapping[str, float]] = {"access_seconds": 2 * 3600, "refresh_seconds": 90 * 24 * 3600}

    def membership(self, handle: str) -> Membership:
        did = base64.b32encode(hashlib.sha256(handle.encode()).digest()).decode().lower()[:24]
        password = "-".join(re.findall("....", secret_of(self.name, handle, "password", 16)))
        return Membership(remote_id=f"did:plc:{did}", credentials={"identifier": handle, "password": password})

    def bad_request(self, message: str) -> Reply:
        return error(400, "InvalidRequest", message)

    def unauthorized(self, doubt: Doubt) -> Reply:
        match doubt:
            case Doubt.MISSING:
                return error(401, "AuthMissing", "Authentication Required")
            case Doubt.UNKNOWN:
                return error(400, "InvalidToken", "Token could not be verified")
            case Doubt.EXPIRED:
                return error(400, "ExpiredToken", "Token has expired")

    def blocked(self) -> Reply:
        return error(401, "AccountTakedown", "Account has been taken down")

    def no_such_endpoint(self) -> Reply:
        return error(501, "MethodNotImplemented", "Method Not Implemented")

    def internal_error(self) -> Reply:
        return error(500, "InternalServerError", "Internal Server Error")

    def published_anyway(self) -> Reply:
        return error(502, "UpstreamFailure", "Upstream service unreachable")

    def rate_limited(self, seconds: int | None, now: datetime) -> Reply:
        body = {"error": "RateLimitExceeded", "message": "Rate Limit Exceeded"}
        if seconds is None:
            return Reply(429, body)
        reset_at = now.replace(microsecond=0) + timedelta(seconds=seconds)
        headers = {
            "RateLimit-Limit": "5000", "RateLimit-Remaining": "0", "RateLimit-Policy": "5000;w=3600",
            "RateLimit-Reset": str(int(reset_at.timestamp())),
        }  # fmt: skip
        return Reply(429, body, headers, retry_at=reset_at)


def error(status: int, name: str, message: str) -> Reply:
    return Reply(status, {"error": name, "message": message})


def invalid(message: str) -> Refused:
    return Refused(error(400, "InvalidRequest", message))


# Sessions


def create_session(ask: Ask, memory: Memory) -> Reply:
    account = memory.account_of(ask.text("identifier").removeprefix("@"))
    if account is None or account.credentials["password"] != ask.text("password"):
        return error(401, "AuthenticationRequired", "Invalid identifier or password")
    return Reply(200, session_of(memory, account))


def refresh_session(ask: Ask, memory: Memory) -> Reply:
    token = memory.find_token(ask.token)
    if token is None or token.kind != "refresh":
        return error(400, "InvalidToken", "Invalid token scope")
    memory.revoke(token.token)
    return Reply(200, session_of(memory, memory.account))


def session_of(memory: Memory, account: Account) -> dict[str, Any]:
    access = issue(memory, account, "access", "com.atproto.access")
    refresh = issue(memory, account, "refresh", "com.atproto.refresh")
    return {
        "did": account.remote_id, "handle": account.handle, "accessJwt": access, "refreshJwt": refresh, "active": True,
    }  # fmt: skip


def issue(memory: Memory, account: Account, kind: str, scope: str) -> str:
    """Clients read from the token itself when it ends."""
    lifetime = timedelta(seconds=memory.setting(f"{kind}_seconds"))
    claims = {
        "scope": scope, "sub": account.remote_id, "aud": "did:web:sandbox.test", "jti": secrets.token_hex(8),
        "iat": int(memory.now.timestamp()), "exp": int((memory.now + lifetime).timestamp()),
    }  # fmt: skip
    token = ".".join([segment({"typ": "at+jwt", "alg": "HS256"}), segment(claims), secrets.token_urlsafe(32)])
    memory.issue(token, kind, account.handle, lifetime)
    return token


def segment(claims: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()


# Blobs


def upload_blob(ask: Ask, memory: Memory) -> Reply:
    """The same bytes are the same blob, however often they are sent."""
    if not ask.body:
        raise invalid("A blob must have bytes")
    mime = ask.headers.get("content-type", "application/octet-stream")
    cid = cid_of(0x55, ask.body)
    if memory.find_own(BLOB, f"{memory.account.handle} {cid}") is None:
        stored = memory.store(File(mime, ask.body))
        memory.keep(BLOB, f"{memory.account.handle} {cid}", stored | {"size": len(ask.body)})
    blob = {"$type": "blob", "ref": {"$link": cid}, "mimeType": mime, "size": len(ask.body)}
    return Reply(200, {"blob": blob})


def cid_of(codec: int, data: bytes) -> str:
    digest = hashlib.sha256(data).digest()
    return "b" + base64.b32encode(bytes([1, codec, 0x12, 0x20]) + digest).decode().lower().rstrip("=")


# Records


def put_record(ask: Ask, memory: Memory) -> Reply:
    record = checked(ask, memory)
    rkey = ask.text("rkey")
    check_key(rkey)
    uri, cid = uri_of(memory.account, rkey), record_cid(record)
    found = memory.find(RECORD, uri)
    if found is not None and found.body["cid"] == cid:
        return Reply(200, {"uri": uri, "cid": cid, "validationStatus": "valid"})
    if "swapRecord" in ask.params and ask.params["swapRecord"] != (found and found.body["cid"]):
        return error(400, "InvalidSwap", f"Record was at {found.body['cid'] if found else 'null'}")
    if found is None:
        return created(memory, uri, cid, record)
    memory.replace(RECORD, uri, {"cid": cid, "value": record})
    show(memory, uri, record, kind="edit")
    return Reply(200, written(memory, uri, cid))


def create_record(ask: Ask, memory: Memory) -> Reply:
    record = checked(ask, memory)
    rkey = ask.text("rkey") or tid(memory)
    check_key(rkey)
    uri = uri_of(memory.account, rkey)
    if memory.find(RECORD, uri) is not None:
        return NETWORK.internal_error()  # the real one does not call it a conflict either
    return created(memory, uri, record_cid(record), record)


def created(memory: Memory, uri: str, cid: str, record: dict[str, Any]) -> Reply:
    memory.keep(RECORD, uri, {"cid": cid, "value": record}, listed=True)
    show(memory, uri, record)
    return Reply(200, written(memory, uri, cid))


def written(memory: Memory, uri: str, cid: str) -> dict[str, Any]:
    commit = {"cid": cid_of(0x71, f"{uri} {cid}".encode()), "rev": tid(memory)}
    return {"uri": uri, "cid": cid, "commit": commit, "validationStatus": "valid"}


def get_record(ask: Ask, memory: Memory) -> Reply:
    account = memory.account_of(ask.text("repo"))
    if account is None:
        raise invalid(f"Could not find repo: {ask.text('repo')}")
    uri = f"at://{account.remote_id}/{ask.text('collection')}/{ask.text('rkey')}"
    found = memory.find(RECORD, uri)
    if found is None or ask.text("cid", found.body["cid"]) != found.body["cid"]:
        return error(400, "RecordNotFound", f"Could not locate record: {uri}")
    return Reply(200, shown(found))


def list_records(ask: Ask, memory: Memory) -> Reply:
    account = memory.account_of(ask.text("repo"))
    if account is None:
        raise invalid(f"Could not find repo: {ask.text('repo')}")
    limit = whole_number(ask.text("limit", "50"))
    if limit is None or not 1 <= limit <= MOST_LISTED:
        raise invalid("Error: limit must be between 1 and 100")
    records = sorted(memory.listed(RECORD, account.handle), key=rkey_of, reverse=not ask.truth("reverse"))
    if cursor := ask.text("cursor"):
        records = [it for it in records if (rkey_of(it) > cursor if ask.truth("reverse") else rkey_of(it) < cursor)]
    part = [it for it in records if f"/{ask.text('collection')}/" in it.id][:limit]
    return Reply(200, {"records": [shown(it) for it in part]} | ({"cursor": rkey_of(part[-1])} if part else {}))


def shown(record: Thing) -> dict[str, Any]:
    return {"uri": record.id, "cid": record.body["cid"], "value": record.body["value"]}


def rkey_of(record: Thing) -> str:
    return record.id.rpartition("/")[2]


def uri_of(account: Account, rkey: str) -> str:
    return f"at://{account.remote_id}/{POST}/{rkey}"


def record_cid(record: Mapping[str, Any]) -> str:
    return cid_of(0x71, json.dumps(record, sort_keys=True, ensure_ascii=False).encode())


def tid(memory: Memory) -> str:
    """A point in time that no other has: microseconds, and a counter where they would be too coarse."""
    value = (int(memory.now.timestamp() * 1_000_000) << 10) | (memory.number() & 1023)
    return "".join(TID_LETTERS[(value >> shift) & 31] for shift in range(60, -1, -5))


def show(memory: Memory, uri: str, record: dict[str, Any], kind: str = "post") -> None:
    media = []
    for image in images_of(record):
        blob = memory.find_own(BLOB, f"{memory.account.handle} {next(blobs_of(image['image']))}")
        assert blob is not None
        media.append({"url": blob.body["url"], "mime": blob.body["mime"], "alt": str(image["alt"])})
    reply = record.get("reply")
    memory.publish(uri, record["text"], media=media, reply_to=reply["parent"]["uri"] if reply else None, kind=kind)


# What a record must look like


def checked(ask: Ask, memory: Memory) -> dict[str, Any]:
    if ask.text("repo") not in (memory.account.remote_id, memory.account.handle):
        raise Refused(error(401, "AuthenticationRequired", "Authentication Required"))
    if ask.text("collection") != POST:
        raise invalid(f"This sandbox keeps no {ask.text('collection')}")
    record = ask.params.get("record")
    if not isinstance(record, dict):
        raise invalid("Input/record must be an object")
    check_record(record)
    for blob in blobs_of(record.get("embed")):
        kept = memory.find_own(BLOB, f"{memory.account.handle} {blob}")
        if kept is None:
            raise Refused(error(400, "BlobNotFound", f"Could not find blob: {blob}"))
        if kept.body["size"] > LARGEST_IMAGE and kept.body["mime"].startswith("image/"):
            raise Refused(error(400, "BlobTooLarge", f"This file is too large: {kept.body['size']} bytes"))
    for name in ("root", "parent"):
        check_reference(memory, record.get("reply"), name)
    return record


def check_record(record: dict[str, Any]) -> None:
    def wrong(message: str) -> Refused:
        return invalid(f"Invalid {POST} record: {message}")

    if record.get("$type") != POST:
        raise invalid(f"Invalid $type: expected {POST}, got {record.get('$type')}")
    if unknown := set(record) - RECORD_FIELDS:
        raise wrong(f"Record has no property {min(unknown)}")
    if not isinstance(record.get("text"), str):
        raise wrong('Record must have the property "text"')
    if not is_datetime(record.get("createdAt")):
        raise wrong("Record/createdAt must be an valid atproto datetime (both RFC-3339 and ISO-8601)")
    if len(regex.findall(r"\X", record["text"])) > MOST_GRAPHEMES:
        raise wrong(f"Record/text must not be longer than {MOST_GRAPHEMES} graphemes")
    if len(record["text"].encode()) > MOST_BYTES:
        raise wrong(f"Record/text must not be longer than {MOST_BYTES} characters")
    images = images_of(record)
    if len(images) > MOST_IMAGES:
        raise wrong(f"Record/embed/images must not have more than {MOST_IMAGES} elements")
    if any(not isinstance(image.get("alt"), str) or not list(blobs_of(image.get("image"))) for image in images):
        raise wrong('Record/embed/images/0 must have the properties "image" and "alt"')


def check_key(rkey: str) -> None:
    if not TID.fullmatch(rkey):
        raise invalid(f"Invalid record key for {POST}: Invalid TID string: {rkey}")


def check_reference(memory: Memory, reply: Any, name: str) -> None:
    """Records of this sandbox must be there, as they are referred to; those elsewhere are believed."""
    if reply is None:
        return
    told = reply.get(name) if isinstance(reply, dict) else None
    if not isinstance(told, dict) or not str(told.get("uri")).startswith("at://") or not told.get("cid"):
        raise invalid(f"Invalid {POST} record: Record/reply/{name} must be a strong reference")
    found = memory.find(RECORD, told["uri"])
    ours = memory.account_of(told["uri"].removeprefix("at://").partition("/")[0]) is not None
    if ours and (found is None or found.body["cid"] != told["cid"]):
        raise invalid(f"Invalid {POST} record: Record/reply/{name} refers to nothing")


def is_datetime(text: Any) -> bool:
    try:
        return isinstance(text, str) and "T" in text and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def images_of(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    embed = record.get("embed")
    images = embed.get("images", []) if isinstance(embed, dict) else []
    return [image for image in images if isinstance(image, dict)]


def blobs_of(value: Any) -> Iterator[str]:
    """The blobs something refers to, however deep."""
    if isinstance(value, dict):
        if value.get("$type") == "blob" and isinstance(value.get("ref"), dict):
            yield str(value["ref"].get("$link"))
        for inner in value.values():
            yield from blobs_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from blobs_of(inner)


XRPC = "/xrpc/com.atproto"
WRITES = ("repo", "collection", "rkey", "validate", "record", "swapCommit")

Bluesky.endpoints = (
    Endpoint(
        name="createSession", methods=("POST",), path=f"{XRPC}.server.createSession", act=create_session, open=True,
        takes=("identifier", "password", "authFactorToken", "allowTakendown"),
    ),
    Endpoint(
        name="refreshSession", methods=("POST",), path=f"{XRPC}.server.refreshSession", act=refresh_session,
        refreshes=True, reads=True,
    ),
    Endpoint(name="uploadBlob", methods=("POST",), path=f"{XRPC}.repo.uploadBlob", act=upload_blob, raw=True),
    Endpoint(
        name="putRecord", methods=("POST",), path=f"{XRPC}.repo.putRecord", act=put_record, visible=True, listed=True,
        takes=(*WRITES, "swapRecord"),
    ),
    Endpoint(
        name="createRecord", methods=("POST",), path=f"{XRPC}.repo.createRecord", act=create_record, visible=True,
        listed=True, takes=WRITES,
    ),
    Endpoint(
        name="getRecord", methods=("GET",), path=f"{XRPC}.repo.getRecord", act=get_record, open=True, reads=True,
        takes=("repo", "collection", "rkey", "cid"),
    ),
    Endpoint(
        name="listRecords", methods=("GET",), path=f"{XRPC}.repo.listRecords", act=list_records, open=True, reads=True,
        takes=("repo", "collection", "limit", "cursor", "reverse"),
    ),
)  # fmt: skip
NETWORK = Bluesky()
