"""`Idempotency-Key`: the same request is answered the same, for ever; another one with its key is refused."""

import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Protocol

from fastapi import Header, Request
from fastapi.responses import Response
from pydantic import BaseModel

from postino.api.caller import Caller
from postino.errors import WrongUse
from postino.values.post import IdempotentRequest, ResponseRecorder, StoredResponse

MOST_KEY = 255
CallersKey = Annotated[str | None, Header(alias="Idempotency-Key")]
Told = Callable[[Any], StoredResponse]


class Answers(Protocol):
    async def stored_response(self, asked: IdempotentRequest) -> StoredResponse | None: ...


def answer_of(status: int, body: Any) -> StoredResponse:
    return StoredResponse(status, json.dumps(body, ensure_ascii=False, separators=(",", ":")))


def response_of(answer: StoredResponse) -> Response:
    return Response(answer.body.encode(), answer.status, media_type="application/json")


async def answered(
    store: Answers,
    asked: IdempotentRequest | None,
    told: Told,
    make: Callable[[ResponseRecorder | None], Awaitable[Any]],
) -> Response:
    """Makes it and tells of it. With a key, what is told is kept with what was made, and told again."""
    if asked is None:
        return response_of(told(await make(None)))
    known = await store.stored_response(asked)
    if known is None:
        said: list[StoredResponse] = []

        def telling(made: Any) -> StoredResponse:
            said[:] = [told(made)]
            return said[0]

        made = await make(ResponseRecorder(asked, telling))
        known = said[0] if made else await store.stored_response(asked)
        assert known is not None, "it was written with what was made"
    return response_of(known)


def asked_of(request: Request, caller: Caller, key: str | None, body: BaseModel | None) -> IdempotentRequest | None:
    if key is None:
        return None
    if not 0 < len(key) <= MOST_KEY:
        told = f"Idempotency-Key: a key has 1 to {MOST_KEY} characters, not {len(key)}."
        raise WrongUse(told, "Idempotency-Key")
    said = None if body is None else body.model_dump(mode="json")
    text = json.dumps([request.method, request.url.path, said], sort_keys=True, ensure_ascii=False)
    what = f"{request.method} {request.url.path}"
    return IdempotentRequest(caller.key, key, hashlib.sha256(text.encode()).hexdigest(), what)
