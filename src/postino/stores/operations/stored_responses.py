"""Stored responses to requests with an Idempotency-Key, written in the transaction that made the result."""

from collections.abc import Sequence
from typing import Any

from postino.errors import Conflict
from postino.stores.statement import Operation, Row, each
from postino.values.post import IdempotentRequest, ResponseRecorder, StoredResponse


def find_response(request: IdempotentRequest, *, keep: bool = False) -> Operation[StoredResponse | None]:
    """Return the response stored for this request, if any.

    With `keep`, reserve an unused key instead: None then means that the caller must answer.
    """
    if keep and (yield from reserve_responses([request])):
        return None
    return (yield from find_responses([request]))[0]


def reserve_responses(requests: Sequence[IdempotentRequest]) -> Operation[list[IdempotentRequest]]:
    """Reserve the unused keys and return their requests; the first of several with one key wins."""
    reserved = {
        (row["caller"], row["key"])
        for row in (yield each("reserve_responses", [make_request_values(request) for request in requests]))
    }
    first = {(request.caller, request.key): request for request in reversed(requests)}
    return [request for key, request in first.items() if key in reserved]


def find_responses(requests: Sequence[IdempotentRequest]) -> Operation[list[StoredResponse | None]]:
    """Return the stored response of each request. Raises Conflict where a key was used for another request."""
    keys = {(request.caller, request.key) for request in requests}
    rows = yield each("find_responses", [{"caller": caller, "key": key} for caller, key in sorted(keys)])
    rows_by_key = {(row["caller"], row["key"]): row for row in rows}
    return [to_response(request, rows_by_key.get((request.caller, request.key))) for request in requests]


def to_response(request: IdempotentRequest, row: Row | None) -> StoredResponse | None:
    """Return the response in a row. Raises Conflict if the row belongs to another request."""
    if row is None:
        return None
    if row["request_hash"] != request.request_hash:
        raise Conflict(describe_reuse(request, row))
    return StoredResponse(row["status"], row["body"])


def store_response(once: ResponseRecorder, result: Any) -> Operation[None]:
    """Store the response to one request, made from its result."""
    yield from store_responses([(once, result)])


def store_responses(results: Sequence[tuple[ResponseRecorder, Any]]) -> Operation[None]:
    """Store the responses to several requests, each made from its result."""
    responses = [(once.request, once.render(result)) for once, result in results]
    yield each("save_responses", [
        {"caller": request.caller, "key": request.key, "status": response.status, "body": response.body}
        for request, response in responses
    ])  # fmt: skip


def make_request_values(request: IdempotentRequest) -> dict[str, Any]:
    """Return the columns of a request."""
    return {name: getattr(request, name) for name in IdempotentRequest.__slots__}


def describe_reuse(request: IdempotentRequest, first: Row) -> str:
    """Say that a key was used before, for which request, and what to do."""
    at = f"{first['created_at']:%Y-%m-%d %H:%M:%S} UTC"
    before = f"{first['endpoint']} (request {first['request_hash'][:12]})"
    now = f"{request.endpoint} (request {request.request_hash[:12]})"
    return (
        f"Idempotency-Key {request.key!r} was used at {at} for {before}; this is {now}."
        " Nothing was changed. Repeat the first request to get its response again, or use another key for this one."
    )
