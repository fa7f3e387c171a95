"""Refusals on the wire: RFC 9457 problem details, with `field` where one is to blame. Never a stack trace."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from http import HTTPStatus
from typing import Any, get_args

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postino.api.authorization import ROWS
from postino.api.views.posts import render_problems
from postino.errors import Conflict, NotFound, PostinoError, StoreError, WrongUse
from postino.publishing.post_validation import InvalidPost

log = structlog.get_logger("postino.api")
request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
STATUS: Mapping[type[PostinoError], int] = {WrongUse: 422, NotFound: 404, Conflict: 409, StoreError: 503}
SAFE = ("GET", "HEAD")
PATHS = frozenset(path for _, path in ROWS)
MOST_TOLD = 100  # faults of one body
MOST_NAME = 100  # characters of what is told again
AGAIN_AFTER = 5  # seconds, in which a database that was restarted is back
OUR_FAULT = "Postino itself went wrong. Nothing more is told here; its log has the rest. It may be tried again."
NO_SUCH_METHOD = "This address does not take that method."
SECRET = frozenset({"credentials", "password"})  # what is in them is in no message
WANTED = {
    "string_type": "a text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "list_type": "a list",
    "dict_type": "an object",
    "model_attributes_type": "an object",
    "model_type": "an object",
    "uuid_parsing": "an id such as 01932c07-5b1e-7cc3-98c4-dc0c0c07398f",
    "uuid_type": "an id such as 01932c07-5b1e-7cc3-98c4-dc0c0c07398f",
}


def problem(
    status: int, detail: str, field: str | None = None, headers: Mapping[str, str] | None = None, **more: Any
) -> JSONResponse:
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    asked = request_id.get()
    told = body | ({"field": field} if field else {}) | more | ({"request_id": asked} if asked else {})
    return JSONResponse(told, status, {**(headers or {})}, "application/problem+json")


def answer_with_problems(app: FastAPI) -> None:
    app.exception_handler(PostinoError)(refused)
    app.exception_handler(RequestValidationError)(misread)
    app.exception_handler(HTTPException)(told)


async def refused(_: Request, error: PostinoError) -> JSONResponse:
    status = next((status for kind, status in STATUS.items() if isinstance(error, kind)), 500)
    if status >= 500:
        log.warning("api.refused", status=status, error=str(error))
    more: dict[str, Any] = {}
    if isinstance(error, InvalidPost):
        more["problems"] = render_problems(error.previews)
    headers = {"Retry-After": str(AGAIN_AFTER)} if status == HTTPStatus.SERVICE_UNAVAILABLE else None
    return problem(status, str(error), getattr(error, "field", None), headers, **more)


async def told(request: Request, error: HTTPException) -> JSONResponse:
    said = {404: "There is nothing at this address.", 405: NO_SUCH_METHOD}
    detail = error.detail
    if error.status_code in said and detail == HTTPStatus(error.status_code).phrase:
        detail = said[error.status_code]
    headers = {**(error.headers or {})}
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED and (taken := methods_at(request.scope["path"])):
        headers["Allow"] = ", ".join(sorted(taken))  # not only what the first route there takes
    return problem(error.status_code, detail, None, headers)


async def misread(request: Request, error: RequestValidationError) -> JSONResponse:
    """What is wrong, in `problems`; the first of it as `field` and `detail`. More than anybody reads is not told."""
    path = request.scope["path"]
    if request.scope["route"].path != path and path in PATHS:
        return problem(405, NO_SUCH_METHOD, None, {"Allow": ", ".join(sorted(methods_at(path)))})
    body = request.scope["route"].body_field
    model = None if body is None else body.field_info.annotation
    found = [(field_of(fault["loc"]), sentence(fault, model)) for fault in error.errors()[:MOST_TOLD]]
    field, detail = found[0]
    problems = [{"field": name, "message": message} for name, message in found]
    return problem(422, unless_asking(detail, request.method), field, problems=problems)


def unless_asking(detail: str, method: str) -> str:
    """Who wanted a change hears that there was none."""
    return detail if method in SAFE else f"{detail} Nothing was changed."


def methods_at(path: str) -> set[str]:
    """All that is taken at this very address: `bulk` in `GET /v1/jobs/bulk` was not meant as an id."""
    there = [path] if path in PATHS else [name for name in PATHS if fits(name, path)]
    return {method for method, name in ROWS if name in there}


def fits(template: str, path: str) -> bool:
    parts, said = template.split("/"), path.split("/")
    return len(parts) == len(said) and all("{" in part or part == word for part, word in zip(parts, said, strict=True))


def field_of(place: Sequence[str | int]) -> str:
    """`media[0].url`, as people write it."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part[:MOST_NAME]}" for part in place[1:])
    return text.removeprefix(".")


def sentence(fault: Mapping[str, Any], model: Any) -> str:
    name = field_of(fault["loc"]) or "The body"
    match fault["type"]:
        case "extra_forbidden":
            return f"{name}: there is no such field.{nearest(str(fault['loc'][-1]), known_at(model, fault['loc']))}"
        case "missing" if len(fault["loc"]) == 1:
            return f"The body is missing: {told_of_body(model)}."
        case "missing":
            return f"{name} is missing."
        case kind if kind in WANTED and SECRET.isdisjoint(fault["loc"]):
            return f"{name} must be {WANTED[kind]}, not {shown(fault['input'])}."
        case kind if kind in WANTED:
            return f"{name} must be {WANTED[kind]}."
        case _:
            return f"{name}: {fault['msg'].replace('Input should', 'it should')}."


def told_of_body(body: Any) -> str:
    """What belongs in it."""
    model = next(models_in(body), None)
    if model is None:
        return "send a JSON object"
    fields = model.model_fields
    needed = [name for name, field in fields.items() if field.is_required()]
    others = [name for name in fields if name not in needed]
    told = f"send a JSON object with {', '.join(needed or others)}"
    return f"{told}; it may have {', '.join(others)}" if needed and others else told


def known_at(body: Any, place: Sequence[str | int]) -> list[str]:
    """The fields there are where one was given that is none; a body that may be left out has the same."""
    model = next(models_in(body), None)
    for part in place[1:-1]:
        if model is not None and part in model.model_fields:
            model = next(models_in(model.model_fields[part].annotation), model)
    return [] if model is None else list(model.model_fields)


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models_in(part)


def nearest(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name[:MOST_NAME], known, n=1)
    return f" Did you mean {close[0]}?" if close else f" There are: {', '.join(known)}." if known else ""


def shown(value: Any) -> str:
    text = re.sub(r"\s+", " ", ascii(value))
    return text if len(text) <= 40 else f"{text[:39]}…"


class Safety:
    """The outermost net: a bug is told in one sentence, and the log has the rest."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, sending)
        except Exception:
            if scope["type"] != "http":
                raise
            log.exception("api.trouble", method=scope["method"], path=scope["path"])
            if not begun:
                await problem(500, OUR_FAULT)(scope, receive, send)
