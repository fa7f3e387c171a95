"""Bluesky. The client chooses the key of a record; the same record under the same key stays one record."""

import base64
import hashlib
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar

from postino.rules.text_length import count_graphemes
from postino.sandbox.network import (
    AccountSetup,
    Reply,
    RequestRefused,
    SandboxCall,
    SandboxEndpoint,
    SandboxNetwork,
    TokenProblem,
    derive_secret,
    parse_whole_number,
)
from postino.sandbox.network_state import NetworkState, SandboxAccount, SandboxFile, StoredObject

POST = "app.bsky.feed.post"
RECORD = "record"
BLOB = "blob"
TID = re.compile(r"[234567abcdefghij][234567a-z]{12}")
TID_LETTERS = "234567abcdefghijklmnopqrstuvwxyz"
RECORD_FIELDS = {"$type", "text", "createdAt", "langs", "facets", "embed", "reply", "tags", "labels", "entities"}
# The largest image is that of the lexicon from before April 2026, which some servers still have. The newer one allows
# 2,000,000 bytes.
MOST_GRAPHEMES, MOST_BYTES, MOST_IMAGES, LARGEST_IMAGE, MOST_LISTED = 300, 3000, 4, 1_000_000, 100


class SandboxBluesky(SandboxNetwork):
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

    def set_up_account(self, handle: str) -> AccountSetup:
        did = base64.b32encode(hashlib.sha256(handle.encode()).digest()).decode().lower()[:24]
        password = "-".join(re.findall("....", derive_secret(self.name, handle, "password", 16)))
        return AccountSetup(remote_id=f"did:plc:{did}", credentials={"identifier": handle, "password": password})

    def reply_bad_request(self, message: str) -> Reply:
        return error(400, "InvalidRequest", message)

    def reply_unauthorized(self, problem: TokenProblem) -> Reply:
        match problem:
            case TokenProblem.MISSING:
                return error(401, "AuthMissing", "Authentication Required")
            case TokenProblem.UNKNOWN:
                return error(400, "InvalidToken", "Token could not be verified")
            case TokenProblem.EXPIRED:
                return error(400, "ExpiredToken", "Token has expired")

    def reply_blocked(self) -> Reply:
        return error(401, "AccountTakedown", "Account has been taken down")

    def reply_not_found(self) -> Reply:
        return error(501, "MethodNotImplemented", "Method Not Implemented")

    def reply_internal_error(self) -> Reply:
        return error(500, "InternalServerError", "Internal Server Error")

    def reply_misleading_error(self) -> Reply:
        return error(502, "UpstreamFailure", "Upstream service unreachable")

    def reply_rate_limited(self, seconds: int | None, now: datetime) -> Reply:
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


def refuse(message: str) -> RequestRefused:
    return RequestRefused(error(400, "InvalidRequest", message))


# Sessions


def create_session(call: SandboxCall, state: NetworkState) -> Reply:
    account = state.find_account(call.text("identifier").removeprefix("@"))
    if account is None or account.credentials["password"] != call.text("password"):
        return error(401, "AuthenticationRequired", "Invalid identifier or password")
    if account.blocked:
        return NETWORK.reply_blocked()
    return Reply(200, render_session(state, account))


def refresh_session(call: SandboxCall, state: NetworkState) -> Reply:
    token = state.find_token(call.token)
    if token is None or token.kind != "refresh":
        return error(400, "InvalidToken", "Invalid token scope")
    state.revoke_token(token.token)
    return Reply(200, render_session(state, state.account))


def render_session(state: NetworkState, account: SandboxAccount) -> dict[str, Any]:
    access = issue_jwt(state, account, "access", "com.atproto.access")
    refresh = issue_jwt(state, account, "refresh", "com.atproto.refresh")
    return {
        "did": account.remote_id, "handle": account.handle, "accessJwt": access, "refreshJwt": refresh, "active": True,
    }  # fmt: skip


def issue_jwt(state: NetworkState, account: SandboxAccount, kind: str, scope: str) -> str:
    """Issue a JWT, from which clients read when it expires."""
    lifetime = timedelta(seconds=state.get_setting(f"{kind}_seconds"))
    claims = {
        "scope": scope, "sub": account.remote_id, "aud": "did:web:sandbox.test", "jti": secrets.token_hex(8),
        "iat": int(state.now.timestamp()), "exp": int((state.now + lifetime).timestamp()),
    }  # fmt: skip
    token = ".".join(
        [encode_segment({"typ": "at+jwt", "alg": "HS256"}), encode_segment(claims), secrets.token_urlsafe(32)]
    )
    state.issue_token(token, kind, account.handle, lifetime)
    return token


def encode_segment(claims: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()


# Blobs


def upload_blob(call: SandboxCall, state: NetworkState) -> Reply:
    """Store a blob. The same bytes get the same blob."""
    if not call.body:
        raise refuse("A blob must have bytes")
    mime = call.headers.get("content-type", "application/octet-stream")
    cid = compute_cid(0x55, call.body)
    if state.find_owned(BLOB, f"{state.account.handle} {cid}") is None:
        stored = state.store_media(SandboxFile(mime, call.body))
        state.add(BLOB, f"{state.account.handle} {cid}", stored | {"size": len(call.body)})
    blob = {"$type": "blob", "ref": {"$link": cid}, "mimeType": mime, "size": len(call.body)}
    return Reply(200, {"blob": blob})


def compute_cid(codec: int, data: bytes) -> str:
    digest = hashlib.sha256(data).digest()
    return "b" + base64.b32encode(bytes([1, codec, 0x12, 0x20]) + digest).decode().lower().rstrip("=")


# Records


def put_record(call: SandboxCall, state: NetworkState) -> Reply:
    record = read_record(call, state)
    rkey = call.text("rkey")
    check_key(rkey)
    uri, cid = build_uri(state.account, rkey), compute_record_cid(record)
    found = state.find(RECORD, uri)
    if found is not None and found.body["cid"] == cid:
        return Reply(200, {"uri": uri, "cid": cid, "validationStatus": "valid"})
    if "swapRecord" in call.params and call.params["swapRecord"] != (found and found.body["cid"]):
        return error(400, "InvalidSwap", f"Record was at {found.body['cid'] if found else 'null'}")
    if found is None:
        return add_record(state, uri, cid, record)
    state.replace(RECORD, uri, {"cid": cid, "value": record})
    publish_record(state, uri, record, kind="edit")
    return Reply(200, render_written(state, uri, cid))


def create_record(call: SandboxCall, state: NetworkState) -> Reply:
    record = read_record(call, state)
    rkey = call.text("rkey") or make_tid(state)
    check_key(rkey)
    uri = build_uri(state.account, rkey)
    if state.find(RECORD, uri) is not None:
        return NETWORK.reply_internal_error()  # the real one does not call it a conflict either
    return add_record(state, uri, compute_record_cid(record), record)


def add_record(state: NetworkState, uri: str, cid: str, record: dict[str, Any]) -> Reply:
    state.add(RECORD, uri, {"cid": cid, "value": record}, listed=True)
    publish_record(state, uri, record)
    return Reply(200, render_written(state, uri, cid))


def render_written(state: NetworkState, uri: str, cid: str) -> dict[str, Any]:
    commit = {"cid": compute_cid(0x71, f"{uri} {cid}".encode()), "rev": make_tid(state)}
    return {"uri": uri, "cid": cid, "commit": commit, "validationStatus": "valid"}


def get_record(call: SandboxCall, state: NetworkState) -> Reply:
    account = state.find_account(call.text("repo"))
    if account is None:
        raise refuse(f"Could not find repo: {call.text('repo')}")
    uri = f"at://{account.remote_id}/{call.text('collection')}/{call.text('rkey')}"
    found = state.find(RECORD, uri)
    if found is None or call.text("cid", found.body["cid"]) != found.body["cid"]:
        return error(400, "RecordNotFound", f"Could not locate record: {uri}")
    return Reply(200, render(found))


def list_records(call: SandboxCall, state: NetworkState) -> Reply:
    account = state.find_account(call.text("repo"))
    if account is None:
        raise refuse(f"Could not find repo: {call.text('repo')}")
    limit = parse_whole_number(call.text("limit", "50"))
    if limit is None or not 1 <= limit <= MOST_LISTED:
        raise refuse("Error: limit must be between 1 and 100")
    records = sorted(state.list_objects(RECORD, account.handle), key=get_rkey, reverse=not call.is_true("reverse"))
    if cursor := call.text("cursor"):
        records = [
            it for it in records if (get_rkey(it) > cursor if call.is_true("reverse") else get_rkey(it) < cursor)
        ]
    part = [it for it in records if f"/{call.text('collection')}/" in it.id][:limit]
    return Reply(200, {"records": [render(it) for it in part]} | ({"cursor": get_rkey(part[-1])} if part else {}))


def render(record: StoredObject) -> dict[str, Any]:
    return {"uri": record.id, "cid": record.body["cid"], "value": record.body["value"]}


def get_rkey(record: StoredObject) -> str:
    return record.id.rpartition("/")[2]


def build_uri(account: SandboxAccount, rkey: str) -> str:
    return f"at://{account.remote_id}/{POST}/{rkey}"


def compute_record_cid(record: Mapping[str, Any]) -> str:
    return compute_cid(0x71, json.dumps(record, sort_keys=True, ensure_ascii=False).encode())


def make_tid(state: NetworkState) -> str:
    """Return a unique timestamp identifier: microseconds and a counter."""
    value = (int(state.now.timestamp() * 1_000_000) << 10) | (state.next_number() & 1023)
    return "".join(TID_LETTERS[(value >> shift) & 31] for shift in range(60, -1, -5))


def publish_record(state: NetworkState, uri: str, record: dict[str, Any], kind: str = "post") -> None:
    media = []
    for image in list_images(record):
        blob = state.find_owned(BLOB, f"{state.account.handle} {next(find_blobs(image['image']))}")
        assert blob is not None
        media.append({"url": blob.body["url"], "mime": blob.body["mime"], "alt": str(image["alt"])})
    reply = record.get("reply")
    state.publish(uri, record["text"], media=media, reply_to=reply["parent"]["uri"] if reply else None, kind=kind)


# What a record must look like


def read_record(call: SandboxCall, state: NetworkState) -> dict[str, Any]:
    if call.text("repo") not in (state.account.remote_id, state.account.handle):
        raise RequestRefused(error(401, "AuthenticationRequired", "Authentication Required"))
    if call.text("collection") != POST:
        raise refuse(f"This sandbox keeps no {call.text('collection')}")
    record = call.params.get("record")
    if not isinstance(record, dict):
        raise refuse("Input/record must be an object")
    check_record(record)
    for blob in find_blobs(record.get("embed")):
        kept = state.find_owned(BLOB, f"{state.account.handle} {blob}")
        if kept is None:
            raise RequestRefused(error(400, "BlobNotFound", f"Could not find blob: {blob}"))
        if kept.body["size"] > LARGEST_IMAGE and kept.body["mime"].startswith("image/"):
            raise RequestRefused(error(400, "BlobTooLarge", f"This file is too large: {kept.body['size']} bytes"))
    for name in ("root", "parent"):
        check_reference(state, record.get("reply"), name)
    return record


def check_record(record: dict[str, Any]) -> None:
    def refuse_record(message: str) -> RequestRefused:
        return refuse(f"Invalid {POST} record: {message}")

    if record.get("$type") != POST:
        raise refuse(f"Invalid $type: expected {POST}, got {record.get('$type')}")
    if unknown := set(record) - RECORD_FIELDS:
        raise refuse_record(f"Record has no property {min(unknown)}")
    if not isinstance(record.get("text"), str):
        raise refuse_record('Record must have the property "text"')
    if not is_datetime(record.get("createdAt")):
        raise refuse_record("Record/createdAt must be an valid atproto datetime (both RFC-3339 and ISO-8601)")
    if count_graphemes(record["text"]) > MOST_GRAPHEMES:
        raise refuse_record(f"Record/text must not be longer than {MOST_GRAPHEMES} graphemes")
    if len(record["text"].encode()) > MOST_BYTES:
        raise refuse_record(f"Record/text must not be longer than {MOST_BYTES} characters")
    images = list_images(record)
    if len(images) > MOST_IMAGES:
        raise refuse_record(f"Record/embed/images must not have more than {MOST_IMAGES} elements")
    if any(not isinstance(image.get("alt"), str) or not list(find_blobs(image.get("image"))) for image in images):
        raise refuse_record('Record/embed/images/0 must have the properties "image" and "alt"')


def check_key(rkey: str) -> None:
    if not TID.fullmatch(rkey):
        raise refuse(f"Invalid record key for {POST}: Invalid TID string: {rkey}")


def check_reference(state: NetworkState, reply: Any, name: str) -> None:
    """Refuse a reference to a record of this sandbox that does not exist; references elsewhere are accepted."""
    if reply is None:
        return
    reference = reply.get(name) if isinstance(reply, dict) else None
    if not isinstance(reference, dict) or not str(reference.get("uri")).startswith("at://") or not reference.get("cid"):
        raise refuse(f"Invalid {POST} record: Record/reply/{name} must be a strong reference")
    found = state.find(RECORD, reference["uri"])
    ours = state.find_account(reference["uri"].removeprefix("at://").partition("/")[0]) is not None
    if ours and (found is None or found.body["cid"] != reference["cid"]):
        raise refuse(f"Invalid {POST} record: Record/reply/{name} refers to nothing")


def is_datetime(text: Any) -> bool:
    try:
        return isinstance(text, str) and "T" in text and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def list_images(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    embed = record.get("embed")
    images = embed.get("images", []) if isinstance(embed, dict) else []
    return [image for image in images if isinstance(image, dict)]


def find_blobs(value: Any) -> Iterator[str]:
    """Yield the blobs in a value, at any depth."""
    if isinstance(value, dict):
        if value.get("$type") == "blob" and isinstance(value.get("ref"), dict):
            yield str(value["ref"].get("$link"))
        for inner in value.values():
            yield from find_blobs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from find_blobs(inner)


XRPC = "/xrpc/com.atproto"
WRITES = ("repo", "collection", "rkey", "validate", "record", "swapCommit")

SandboxBluesky.endpoints = (
    SandboxEndpoint(
        name="createSession", methods=("POST",), path=f"{XRPC}.server.createSession", act=create_session, open=True,
        takes=("identifier", "password", "authFactorToken", "allowTakendown"),
    ),
    SandboxEndpoint(
        name="refreshSession", methods=("POST",), path=f"{XRPC}.server.refreshSession", act=refresh_session,
        refreshes=True, reads=True,
    ),
    SandboxEndpoint(name="uploadBlob", methods=("POST",), path=f"{XRPC}.repo.uploadBlob", act=upload_blob, raw=True),
    SandboxEndpoint(
        name="putRecord", methods=("POST",), path=f"{XRPC}.repo.putRecord", act=put_record, visible=True, listed=True,
        takes=(*WRITES, "swapRecord"),
    ),
    SandboxEndpoint(
        name="createRecord", methods=("POST",), path=f"{XRPC}.repo.createRecord", act=create_record, visible=True,
        listed=True, takes=WRITES,
    ),
    SandboxEndpoint(
        name="getRecord", methods=("GET",), path=f"{XRPC}.repo.getRecord", act=get_record, open=True, reads=True,
        takes=("repo", "collection", "rkey", "cid"),
    ),
    SandboxEndpoint(
        name="listRecords", methods=("GET",), path=f"{XRPC}.repo.listRecords", act=list_records, open=True, reads=True,
        takes=("repo", "collection", "limit", "cursor", "reverse"),
    ),
)  # fmt: skip
NETWORK = SandboxBluesky()
