"""Render jobs, attempts and dead letters."""

import base64
import json
from typing import Any

from postino.api.views.fields import omit, render_fields, to_json
from postino.stores.records import Attempt, DeadLetter
from postino.values.job import Job

STORED_JSON = ("backoff", "result")


def render_job(job: Job) -> dict[str, Any]:
    """Render every field but the claim token, which only the worker that holds it may know."""
    view = render_fields(job) | {"payload": render_payload(job.payload)}
    return omit(view | {name: parse_stored(view[name]) for name in STORED_JSON}, "token")


def render_attempt(attempt: Attempt) -> dict[str, Any]:
    return render_fields(attempt)


def render_dead_letter(letter: DeadLetter) -> dict[str, Any]:
    """Render a dead letter with its history and stack trace."""
    return render_dead_letter_summary(letter) | {
        "trace": letter.trace,
        "history": [render_attempt(attempt) for attempt in letter.history],
    }


def render_dead_letter_summary(letter: DeadLetter) -> dict[str, Any]:
    return {
        "id": str(letter.job.id),
        "cause": letter.cause.value,
        "died_at": to_json(letter.died_at),
        "error": letter.error,
        "resolved_at": to_json(letter.resolved_at),
        "resolution": letter.resolution,
        "job": render_job(letter.job),
    }


def render_payload(stored: bytes) -> Any:
    """Return the parsed payload if it is valid JSON, else its bytes in base64."""
    try:
        value = json.loads(stored)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return {"base64": base64.b64encode(stored).decode()}
    return value


def parse_stored(text: str | None) -> Any:
    return None if text is None else json.loads(text)
