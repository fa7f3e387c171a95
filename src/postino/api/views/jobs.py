"""Render jobs, attempts and dead letters."""

import base64
import json
from typing import Any

from postino.api.views.fields import omit, render_fields, to_json
from postino.client.types.dead_letters import DeadLetterDetailsView, DeadLetterView
from postino.client.types.jobs import JobView
from postino.client.types.ledger import TracedAttemptView
from postino.stores.records import Attempt, DeadLetter
from postino.values.job import Job

STORED_JSON = ("backoff", "result")


def render_job(job: Job) -> JobView:
    """Render every field but the claim token, which only the worker that holds it may know."""
    view = render_fields(job) | {"payload": render_payload(job.payload)}
    job_view: JobView = omit(view | {name: parse_stored(view[name]) for name in STORED_JSON}, "token")
    return job_view


def render_attempt(attempt: Attempt) -> TracedAttemptView:
    view: TracedAttemptView = render_fields(attempt)
    return view


def render_dead_letter(letter: DeadLetter) -> DeadLetterDetailsView:
    """Render a dead letter with its history and stack trace."""
    return {
        **render_dead_letter_summary(letter),
        "trace": letter.trace,
        "history": [render_attempt(attempt) for attempt in letter.history],
    }


def render_dead_letter_summary(letter: DeadLetter) -> DeadLetterView:
    return {
        "id": str(letter.job.id),
        "cause": to_json(letter.cause),
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
