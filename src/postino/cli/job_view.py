"""Print a job and its attempts."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from postino.cli import output
from postino.errors import Conflict
from postino.rules.replay import FORCE_POST, OR_FORCE

COLUMNS = ("ID", "STATE", "QUEUE", "TYPE", "CHANNEL", "ACCOUNT", "ATTEMPTS", "RUN_AT", "FINISHED_AT", "LAST_ERROR")
FINAL = ("completed", "failed", "cancelled")
JsonDict = Mapping[str, Any]


def format_row(job: JsonDict) -> Sequence[output.Cell]:
    return (
        job["id"], job["state"], job["queue"], job["type"], job["channel"], job["account"], format_attempts(job),
        format_next_run(job), output.parse_instant(job["finished_at"]), job["last_error"],
    )  # fmt: skip


def format_attempts(job: JsonDict) -> str:
    return f"{job['attempts']}" if job["max_attempts"] is None else f"{job['attempts']}/{job['max_attempts']}"


def format_next_run(job: JsonDict) -> output.Cell:
    return None if job["state"] in FINAL else output.parse_instant(job["run_at"])


def print_job(job: JsonDict, about: Mapping[str, output.Cell] | None = None) -> None:
    """Print the fields of a job after those in `about`."""
    output.print_fields({**(about or {}), **{name: format_field(name, value) for name, value in job.items()}})


def format_field(name: str, value: Any) -> output.Cell:
    if name.endswith("_at"):
        return output.parse_instant(value)
    if name == "payload" or isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    text: output.Cell = value
    return text


def print_attempts(history: Sequence[JsonDict]) -> None:
    columns = ("ATTEMPT", "STARTED_AT", "ENDED_AT", "OUTCOME", "WORKER", "MESSAGE")
    rows = [
        (
            format_number(it),
            output.parse_instant(it["started_at"]),
            output.parse_instant(it["ended_at"]),
            it["outcome"],
            it["worker"],
            it["message"],
        )
        for it in history
    ]
    if rows:
        output.print_table(columns, rows, title="Attempts")
    traces = [attempt["trace"] for attempt in history if attempt.get("trace")]
    if traces:
        output.print_line(f"\nLast stack trace\n{traces[-1].rstrip()}")


def format_number(attempt: JsonDict) -> str:
    """Return the number of an attempt; numbers start from one again after a replay."""
    return f"{attempt['number']}" + ("" if attempt["generation"] == 1 else f" of run {attempt['generation']}")


def describe_replay(job: JsonDict) -> str:
    """Say what a replay did: a job that is already published is not run again."""
    return "replayed" if job["state"] != "failed" else f"is already published as {job['remote_id']}"


def to_replay_error(error: Conflict) -> Conflict:
    """Return the error with option names instead of field names."""
    return Conflict(use_options(str(error)))


def use_options(message: str) -> str:
    edit = message.replace(OR_FORCE, "Edit it with --payload JSON, or pass --force.")
    return edit.replace(FORCE_POST, "Pass --force if the cause is gone, or create a new post.")
