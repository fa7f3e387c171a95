"""What the server refuses, as Postino's own exceptions, in the server's words.

Beside those of `postino.errors`: `NotAllowed` (401, 403) and `Unanswered` (no answer, or one nobody can read).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from postino.client.messages import Answer, Lost, Request
from postino.errors import Conflict, NotFound, PostinoError, StoreUnreachable, WrongUse

MOST_WORDS = 2000


class NotAllowed(PostinoError):
    """The key is missing or wrong, or may not do this."""


class Unanswered(PostinoError):
    """No answer came that could be read."""

    exit_code = 5


KINDS: Mapping[int, type[PostinoError]] = {
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    503: StoreUnreachable,
}
WRONG = frozenset({400, 405, 413, 415, 422})


def value_of(request: Request[Any], said: Answer | Lost, server: str, secret: str | None) -> Any:
    """What was answered; raises what was refused. The key is in no message, whatever the server repeats."""
    if isinstance(said, Lost):
        raise Unanswered(f"{server} did not answer {request}: {said.why}. {standing(request)}")
    if 200 <= said.status < 300:
        return parsed(request, said, server)
    raise without_secret(refusal(request, said, server), secret)


def parsed(request: Request[Any], answer: Answer, server: str) -> Any:
    if not answer.body:
        return None
    try:
        return json.loads(answer.body)
    except ValueError:
        told = f"{server} answered {request} with something that is not JSON. Is it Postino? {standing(request)}"
        raise Unanswered(told) from None


def standing(request: Request[Any]) -> str:
    """How things stand for whoever has no answer."""
    if request.method == "GET":
        return "Nothing was changed."
    if request.key is not None:
        return f"It may have been done. Sent again with key={request.key!r}, it is done once."
    return "It may have been done: look before you send it again."


def refusal(request: Request[Any], answer: Answer, server: str) -> PostinoError:
    problem = problem_in(answer)
    if problem is None:
        told = f"{server} answered {request} with {answer.status} and no reason"
        return Unanswered(f"{told}. {standing(request)}" if answer.status >= 500 else f"{told}. Is it Postino?")
    detail, field = str(problem["detail"])[:MOST_WORDS], problem.get("field")
    error = WrongUse(detail) if answer.status in WRONG else KINDS.get(answer.status, PostinoError)(detail)
    error.field = field if isinstance(field, str) else None
    for note in notes_of(problem):
        error.add_note(note)
    return error


def problem_in(answer: Answer) -> Mapping[str, Any] | None:
    """Problem details (RFC 9457), if these are some."""
    try:
        problem = json.loads(answer.body)
    except ValueError:
        return None
    return problem if isinstance(problem, dict) and isinstance(problem.get("detail"), str) else None


def notes_of(problem: Mapping[str, Any]) -> list[str]:
    """Whatever else is wrong, and by which id the server's log knows the request."""
    problems = problem.get("problems")
    found = [it for it in problems if isinstance(it, dict)] if isinstance(problems, list) else []
    told = [f"{it.get('account') or it.get('field') or ''}: {it.get('message')}"[:MOST_WORDS] for it in found]
    asked = problem.get("request_id")
    return told + ([f"request id: {asked}"] if asked else [])


def without_secret(error: PostinoError, secret: str | None) -> PostinoError:
    if secret is not None:
        error.args = tuple(str(text).replace(secret, "…") for text in error.args)
        error.__notes__ = [note.replace(secret, "…") for note in getattr(error, "__notes__", [])]
    return error
