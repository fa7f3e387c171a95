"""Turn error responses into exceptions that carry the server's message.

PostinoError
├── WrongUse          400, 405, 413, 415, 422
├── NotAllowed        401, 403
├── NotFound          404
├── Conflict          409
├── StoreUnreachable  503
└── ApiUnavailable    no response, or one that Postino does not send
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from postino.client.messages import ApiRequest, ApiResponse, NoResponse
from postino.errors import Conflict, NotFound, PostinoError, StoreUnreachable, WrongUse

MAX_MESSAGE = 2000


class NotAllowed(PostinoError):
    """The API key is missing or invalid, or its role does not allow the request."""


class ApiUnavailable(PostinoError):
    """The server did not respond, or its response cannot be read."""

    exit_code = 5


ERROR_TYPES: Mapping[int, type[PostinoError]] = {
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    503: StoreUnreachable,
}
INVALID_REQUEST = frozenset({400, 405, 413, 415, 422})


def parse_response(
    request: ApiRequest[Any], response: ApiResponse | NoResponse, server: str, secret: str | None
) -> Any:
    """Return the body of a successful response, or raise the error. No message contains `secret`, the API key."""
    if isinstance(response, NoResponse):
        raise ApiUnavailable(f"{server} did not respond to {request}: {response.reason}. {describe_effect(request)}")
    if 200 <= response.status < 300:
        return parse_body(request, response, server)
    raise redact(to_error(request, response, server), secret)


def parse_body(request: ApiRequest[Any], response: ApiResponse, server: str) -> Any:
    if not response.body:
        return None
    try:
        return json.loads(response.body)
    except ValueError:
        message = f"The response of {server} to {request} is not JSON. Is the server Postino?"
        raise ApiUnavailable(f"{message} {describe_effect(request)}") from None


def describe_effect(request: ApiRequest[Any]) -> str:
    """Say whether a request without a response may have changed anything, and what to do."""
    if request.method == "GET":
        return "Nothing was changed."
    if request.idempotency_key is not None:
        return f"It may have been processed. Repeat it with key={request.idempotency_key!r}: it takes effect once."
    return "It may have been processed: check before you send it again."


def to_error(request: ApiRequest[Any], response: ApiResponse, server: str) -> PostinoError:
    problem = parse_problem(response)
    if problem is None:
        message = f"{server} responded to {request} with status {response.status} and no reason."
        is_server_error = response.status >= 500
        return ApiUnavailable(f"{message} {describe_effect(request) if is_server_error else 'Is the server Postino?'}")
    detail, field = str(problem["detail"])[:MAX_MESSAGE], problem.get("field")
    invalid = response.status in INVALID_REQUEST
    error = WrongUse(detail) if invalid else ERROR_TYPES.get(response.status, PostinoError)(detail)
    error.field = field if isinstance(field, str) else None
    for note in list_notes(problem):
        error.add_note(note)
    return error


def parse_problem(response: ApiResponse) -> Mapping[str, Any] | None:
    """Return the problem details (RFC 9457), or None if the response has none."""
    try:
        problem = json.loads(response.body)
    except ValueError:
        return None
    return problem if isinstance(problem, dict) and isinstance(problem.get("detail"), str) else None


def list_notes(problem: Mapping[str, Any]) -> list[str]:
    """List the other problems of the request, and its id in the server's log."""
    problems = problem.get("problems")
    items = [item for item in problems if isinstance(item, dict)] if isinstance(problems, list) else []
    notes = [f"{item.get('account') or item.get('field') or ''}: {item.get('message')}"[:MAX_MESSAGE] for item in items]
    request_id = problem.get("request_id")
    return [*notes, f"request id: {request_id}"] if request_id else notes


def redact(error: PostinoError, secret: str | None) -> PostinoError:
    if secret is not None:
        error.args = tuple(str(text).replace(secret, "…") for text in error.args)
        error.__notes__ = [note.replace(secret, "…") for note in getattr(error, "__notes__", [])]
    return error
