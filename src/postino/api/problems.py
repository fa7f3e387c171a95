"""Errors as RFC 9457 problem details, with `field` where one field is wrong. They never hold a stack trace."""

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

from postino.api.refusals import log_refusal
from postino.api.views.posts import render_problems
from postino.errors import Conflict, NotFound, PostinoError, StoreError, WrongUse
from postino.publishing.post_validation import InvalidPost
from postino.values.suggestions import suggest_name
from postino.values.text import MAX_QUOTED
from postino.vault.key_file import KeyFileRefused
from postino.vault.vault import VaultError

log = structlog.get_logger("postino.api")
request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
STATUS: Mapping[type[PostinoError], int] = {
    WrongUse: 422,
    NotFound: 404,
    Conflict: 409,
    VaultError: 409,
    StoreError: 503,
    KeyFileRefused: 503,
}
SAFE = ("GET", "HEAD")
MAX_PROBLEMS = 100  # of one body
RETRY_AFTER = 5  # seconds, in which a restarted database is back
INTERNAL_ERROR = "Postino has an internal error; its log has the details. You can send the request again."
NOT_FOUND = "There is nothing at this URL."
METHOD_NOT_ALLOWED = "This URL does not support that method."
SECRETS = frozenset({"credentials", "password", "new_password"})  # fields whose values are in no message
EXPECTED = {
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
    """Return a problem details response."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    if field:
        body["field"] = field
    body |= more
    if (name := request_id.get()) is not None:
        body["request_id"] = name
    return JSONResponse(body, status, {**(headers or {})}, "application/problem+json")


def add_error_handlers(app: FastAPI) -> None:
    app.exception_handler(PostinoError)(render_postino_error)
    app.exception_handler(RequestValidationError)(render_validation_error)
    app.exception_handler(HTTPException)(render_http_error)


def get_status(error: PostinoError) -> int:
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), 500)


async def render_postino_error(_: Request, error: PostinoError) -> JSONResponse:
    status = get_status(error)
    if status >= 500:
        log.warning("api.error", status=status, error=str(error))
    more = {"problems": render_problems(error.previews)} if isinstance(error, InvalidPost) else {}
    headers = {"Retry-After": str(RETRY_AFTER)} if status == HTTPStatus.SERVICE_UNAVAILABLE else None
    return problem(status, str(error), getattr(error, "field", None), headers, **more)


async def render_http_error(request: Request, error: HTTPException) -> JSONResponse:
    status, detail = error.status_code, error.detail
    if detail == HTTPStatus(status).phrase:
        detail = {404: NOT_FOUND, 405: METHOD_NOT_ALLOWED}.get(status, detail)
    headers = {**(error.headers or {})}
    log_refusal(request, status, detail)
    if status == HTTPStatus.METHOD_NOT_ALLOWED and (methods := list_methods(request)):
        headers["Allow"] = ", ".join(sorted(methods))  # of all routes at this path, not only of the first
    return problem(status, detail, None, headers)


async def render_validation_error(request: Request, error: RequestValidationError) -> JSONResponse:
    """List what is wrong in `problems`, up to a limit; the first problem is also `field` and `detail`."""
    path = request.scope["path"]
    if request.scope["route"].path != path and path in list_paths(request):
        return problem(405, METHOD_NOT_ALLOWED, None, {"Allow": ", ".join(sorted(list_methods(request)))})
    body = request.scope["route"].body_field
    model = None if body is None else body.field_info.annotation
    faults = [(format_place(fault["loc"]), describe_fault(fault, model)) for fault in error.errors()[:MAX_PROBLEMS]]
    field, detail = faults[0]
    problems = [{"field": name, "message": message} for name, message in faults]
    return problem(422, add_unchanged(detail, request.method), field, problems=problems)


def add_unchanged(detail: str, method: str) -> str:
    """Tell callers of methods that change something that nothing was changed."""
    return detail if method in SAFE else f"{detail} Nothing was changed."


def list_paths(request: Request) -> set[str]:
    return {route.path for route in request.app.routes}


def list_methods(request: Request) -> set[str]:
    """Return the methods at this path. `bulk` in `GET /v1/jobs/bulk` is a path of its own, not a job id."""
    path = request.scope["path"]
    paths = [path] if path in list_paths(request) else [one for one in list_paths(request) if matches(one, path)]
    return {
        method for route in request.app.routes if route.path in paths for method in route.methods if method != "HEAD"
    }


def matches(template: str, path: str) -> bool:
    parts, words = template.split("/"), path.split("/")
    return len(parts) == len(words) and all(
        "{" in part or part == word for part, word in zip(parts, words, strict=True)
    )


def format_place(place: Sequence[str | int]) -> str:
    """Format the place of a fault as people write it: `media[0].url`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part[:MAX_QUOTED]}" for part in place[1:])
    return text.removeprefix(".")


def describe_fault(fault: Mapping[str, Any], model: Any) -> str:
    name = format_place(fault["loc"]) or "The body"
    match fault["type"]:
        case "extra_forbidden":
            known = list_fields(model, fault["loc"])
            return f"{name}: there is no such field. {suggest_name(str(fault['loc'][-1]), known)}".rstrip()
        case "missing" if len(fault["loc"]) == 1:
            return f"The body is missing: {describe_body(model)}."
        case "missing":
            return f"{name} is missing."
        case kind if kind in EXPECTED and SECRETS.isdisjoint(fault["loc"]):
            return f"{name} must be {EXPECTED[kind]}, not {abbreviate(fault['input'])}."
        case kind if kind in EXPECTED:
            return f"{name} must be {EXPECTED[kind]}."
        case _:
            return f"{name}: {fault['msg'].replace('Input should', 'it should')}."


def describe_body(body: Any) -> str:
    """Say which fields a body has."""
    model = next(find_models(body), None)
    if model is None:
        return "send a JSON object"
    fields = model.model_fields
    required = [name for name, field in fields.items() if field.is_required()]
    optional = [name for name in fields if name not in required]
    text = f"send a JSON object with {', '.join(required or optional)}"
    return f"{text}; it may have {', '.join(optional)}" if required and optional else text


def list_fields(body: Any, place: Sequence[str | int]) -> list[str]:
    """Return the fields of the object in which an unknown one was found."""
    model = next(find_models(body), None)
    for part in place[1:-1]:
        if model is not None and part in model.model_fields:
            model = next(find_models(model.model_fields[part].annotation), model)
    return [] if model is None else list(model.model_fields)


def find_models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from find_models(part)


def abbreviate(value: Any) -> str:
    text = re.sub(r"\s+", " ", ascii(value))
    return text if len(text) <= 40 else f"{text[:39]}…"


class InternalErrors:
    """Middleware: answer an unexpected exception with 500 and write it to the log."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def send_and_note(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        except Exception:
            if scope["type"] != "http":
                raise
            log.exception("api.internal_error", method=scope["method"], path=scope["path"])
            if not started:
                await problem(500, INTERNAL_ERROR)(scope, receive, send)
