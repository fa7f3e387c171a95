"""Jobs, dead letters and gates as `--json` shows them: every field, in plain JSON."""

import base64
from typing import Any

from postino.gate import Gate
from postino.publishing.job_shapes import of_attempt, of_job, of_letter, payload
from postino.publishing.shapes import plain_fields
from postino.store import WorkerInfo

__all__ = ["of_attempt", "of_gate", "of_job", "of_letter", "of_worker", "payload", "payload_text"]


def of_gate(gate: Gate) -> dict[str, Any]:
    return plain_fields(gate)


def of_worker(worker: WorkerInfo) -> dict[str, Any]:
    return plain_fields(worker)


def payload_text(stored: bytes) -> str:
    """For eyes: the text as it stands, or that it is none."""
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return f"{len(stored)} bytes that are not text, in base64: {base64.b64encode(stored).decode()}"
