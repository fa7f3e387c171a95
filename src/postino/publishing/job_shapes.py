"""Jobs and dead letters as the API and `--json` show them: every field, in plain JSON."""

import base64
import json
from typing import Any

from postino.publishing.shapes import plain, plain_fields
from postino.stores.records import Attempt, DeadLetter
from postino.values.job import Job

STORED_JSON = ("backoff", "result")


def of_job(job: Job) -> dict[str, Any]:
    shape = plain_fields(job) | {"payload": payload(job.payload)}
    return shape | {name: stored(shape[name]) for name in STORED_JSON}


def of_attempt(attempt: Attempt) -> dict[str, Any]:
    return plain_fields(attempt)


def of_letter(letter: DeadLetter) -> dict[str, Any]:
    return {
        "id": str(letter.job.id),
        "cause": letter.cause.value,
        "died_at": plain(letter.died_at),
        "error": letter.error,
        "trace": letter.trace,
        "resolved_at": plain(letter.resolved_at),
        "resolution": letter.resolution,
        "job": of_job(letter.job),
        "history": [of_attempt(attempt) for attempt in letter.history],
    }


def payload(stored: bytes) -> Any:
    """Parsed if it is JSON that can be written again as JSON, else byte for byte."""
    try:
        value = json.loads(stored)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return {"base64": base64.b64encode(stored).decode()}
    return value


def stored(text: str | None) -> Any:
    return None if text is None else json.loads(text)
