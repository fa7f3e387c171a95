"""A job and its history, for eyes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from postino.cli import output
from postino.errors import Conflict

COLUMNS = ("ID", "STATE", "QUEUE", "TYPE", "CHANNEL", "ACCOUNT", "ATTEMPTS", "RUN_AT", "FINISHED_AT", "LAST_ERROR")
FINAL = ("completed", "failed", "cancelled")
JsonDict = Mapping[str, Any]


def row(job: JsonDict) -> Sequence[output.Cell]:
    return (
        job["id"], job["state"], job["queue"], job["type"], job["channel"], job["account"], tries(job), next_run(job),
        output.parse_instant(job["finished_at"]), job["last_error"],
    )  # fmt: skip


def tries(job: JsonDict) -> str:
    return f"{job['attempts']}" if job["max_attempts"] is None else f"{job['attempts']}/{job['max_attempts']}"


def next_run(job: JsonDict) -> output.Cell:
    return None if job["state"] in FINAL else output.parse_instant(job["run_at"])


def show_job(job: JsonDict, about: Mapping[str, output.Cell] | None = None) -> None:
    """Its fields, after what else there is to say about it."""
    output.print_fields({**(about or {}), **{name: cell(name, value) for name, value in job.items()}})


def cell(name: str, value: Any) -> output.Cell:
    if name.endswith("_at"):
        return output.parse_instant(value)
    if name == "payload" or isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    known: output.Cell = value
    return known


def show_history(history: Sequence[JsonDict]) -> None:
    columns = ("ATTEMPT", "STARTED_AT", "ENDED_AT", "OUTCOME", "WORKER", "MESSAGE")
    rows = [
        (
            number(it),
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
        output.print_line("\nLast stack trace\n" + output.escape_control_characters(traces[-1].rstrip()))


def number(attempt: JsonDict) -> str:
    """Attempts count from one again after a replay."""
    return f"{attempt['number']}" + ("" if attempt["generation"] == 1 else f" of run {attempt['generation']}")


def replayed(job: JsonDict) -> str:
    """What replaying came to: a job that is out already comes back as it is."""
    return "replayed" if job["state"] != "failed" else f"is out already as {job['remote_id']}"


def refused(refusal: Conflict) -> Conflict:
    """A refusal to replay, in the words of the command line."""
    return Conflict(in_options(str(refusal)))


def in_options(said: str) -> str:
    return said.replace("edit its payload, or force it", "edit it with --payload JSON, or say --force")
