"""Render jobs, attempts and dead letters."""

import base64
import json
from dataclasses import replace
from typing import Any

from pydantic_core import from_json

from postino.api.views.fields import omit, render_fields, to_json
from postino.client.types.dead_letters import DeadLetterDetailsView, DeadLetterView
from postino.client.types.jobs import JobView
from postino.client.types.ledger import TracedAttemptView
from postino.stores.operations.jobs import measure_job
from postino.stores.operations.pagination import MAX_PAGE_BYTES
from postino.stores.records import Attempt, DeadLetter
from postino.values.job import Job

STORED_JSON = ("backoff", "result")


def render_job(job: Job) -> JobView:
    """Render every field but the claim token, which only the worker that holds it may know."""
    view = render_fields(job) | {"payload": render_payload(job.payload)}
    job_view: JobView = omit(view | {name: parse_stored(view[name]) for name in STORED_JSON}, "token")
    return job_view


class PayloadBudget:
    """Shortens the jobs of one response: after the bytes of a page, their payloads and results are null."""

    def __init__(self) -> None:
        self.left = MAX_PAGE_BYTES

    def shorten(self, job: Job) -> Job:
        self.left -= measure_job(job)
        return job if self.left >= 0 else replace(job, payload=b"null", result=None)


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
        return from_json(stored, allow_inf_nan=False)
    except ValueError:
        return {"base64": base64.b64encode(stored).decode()}


def parse_stored(text: str | None) -> Any:
    return None if text is None else json.loads(text)
