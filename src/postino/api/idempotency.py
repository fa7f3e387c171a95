"""The header `Idempotency-Key`: a repeated request gets the stored response; another request with its key gets 409.

The store keeps the responses and raises the 409: `stores/operations/stored_responses.py`.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, Protocol

from fastapi import Header, Request
from fastapi.responses import Response
from pydantic import BaseModel

from postino.api.context import RequestContext
from postino.errors import WrongUse
from postino.values.post import IdempotentRequest, ResponseRecorder, StoredResponse

MAX_KEY = 255
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="A key of your choice. A repeated request with the same key and body gets the first response.",
    ),
]
Render = Callable[[Any], StoredResponse]


class ResponseStore(Protocol):
    async def stored_response(self, asked: IdempotentRequest) -> StoredResponse | None: ...


def make_response(status: int, body: Any) -> StoredResponse:
    return StoredResponse(status, json.dumps(body, ensure_ascii=False, separators=(",", ":")))


def to_http(response: StoredResponse) -> Response:
    return Response(response.body.encode(), response.status, media_type="application/json")


async def respond_once(
    store: ResponseStore,
    key: IdempotentRequest | None,
    render: Render,
    create: Callable[[ResponseRecorder | None], Awaitable[Any]],
) -> Response:
    """Create something and render it. With a key, the store renders and stores the response in the same transaction.

    `create` returns nothing if a concurrent request with the key was first.
    """
    if key is None:
        return to_http(render(await create(None)))
    stored = await store.stored_response(key)
    if stored is None:
        rendered: list[StoredResponse] = []

        def render_and_keep(created: Any) -> StoredResponse:
            rendered[:] = [render(created)]
            return rendered[0]

        created = await create(ResponseRecorder(key, render_and_keep))
        stored = rendered[0] if created else await store.stored_response(key)
        assert stored is not None, "the response is stored with what was created"
    return to_http(stored)


async def parse_key(context: RequestContext, key: str | None, body: BaseModel | None) -> IdempotentRequest | None:
    """Return the caller's key with a hash of the request; None without a key."""
    if key is None:
        return None
    if not 0 < len(key) <= MAX_KEY:
        message = f"Idempotency-Key must have 1 to {MAX_KEY} characters, not {len(key)}."
        raise WrongUse(message, "Idempotency-Key")
    request = context.request
    size = len(await request.body())
    request_hash = await context.services.beside_loop.run(partial(compute_request_hash, request, body), size)
    return IdempotentRequest(context.caller.key, key, request_hash, f"{request.method} {request.url.path}")


def compute_request_hash(request: Request, body: BaseModel | None) -> str:
    """Return a hash of a request, the same however its body is written, and in releases with further fields."""
    fields = None if body is None else body.model_dump(mode="json", exclude_unset=True)
    text = json.dumps([request.method, request.url.path, fields], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
