"""Convert database rows to values."""

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import datetime
from operator import itemgetter
from typing import Any

from postino.rules.settlement import DeadLetterCause
from postino.stores.records import Attempt, AuditEntry, DeadLetter, QueueDepth, WorkerInfo
from postino.stores.statement import Row
from postino.values.event import Cursor, Event
from postino.values.job import Job, Queue, State, make_job

COLUMNS = tuple(field.name for field in fields(Job))
UNFINISHED_ONLY = {
    "lookup_at",
    "deferral_reason",
    "claimed_by",
    "claimed_at",
    "token",
    "dispatched_at",
    "ignore_blackouts",
    "rate_limit_count",
}
DEAD_LETTER_COLUMNS = frozenset(COLUMNS) - UNFINISHED_ONLY - {"result", "finished_at"}
STATES = {state.value: state for state in State}
QUEUES = tuple(Queue)
get_unfinished_columns = itemgetter(*(name for name in COLUMNS if name not in ("result", "finished_at")))
get_all_columns = itemgetter(*COLUMNS)


def to_unfinished_jobs(rows: Sequence[Row]) -> list[Job]:
    """Return the jobs in rows of the table of unfinished jobs."""
    jobs = []
    for row in rows:
        id_, type_, channel, queue, state, *others = get_unfinished_columns(row)
        jobs.append(make_job(id_, type_, channel, QUEUES[queue], STATES[state], *others))
    return jobs


def to_job(row: Row) -> Job:
    """Return the job in a row of the view over unfinished and finished jobs."""
    id_, type_, channel, queue, state, *others = get_all_columns(row)
    return make_job(id_, type_, channel, Queue.from_label(queue), STATES[state], *others)


def to_dead_letter(row: Row) -> DeadLetter:
    """Return the dead letter in a row."""
    job = Job(
        **{
            **{name: row[name] for name in DEAD_LETTER_COLUMNS - {"state"}},
            "queue": QUEUES[row["queue"]],
            "state": State.FAILED,
            "finished_at": row["died_at"],
        }
    )
    return DeadLetter(
        job=job,
        cause=DeadLetterCause(row["cause"]),
        died_at=row["died_at"],
        error=row["last_error"],
        trace=row["trace"],
        history=tuple(to_past_attempt(entry) for entry in json.loads(row["history"])),
        resolved_at=row["resolved_at"],
        resolution=row["resolution"],
    )


def to_past_attempt(entry: dict[str, Any]) -> Attempt:
    """Return an attempt stored inside a dead letter."""
    return Attempt(
        **{
            **entry,
            "started_at": datetime.fromisoformat(entry["started_at"]),
            "ended_at": datetime.fromisoformat(entry["ended_at"]),
        }
    )


def to_attempt(row: Row) -> Attempt:
    """Return the attempt in a row."""
    return Attempt(**{name: row[name] for name in Attempt.__slots__})


def to_worker(row: Row) -> WorkerInfo:
    """Return the worker in a row."""
    values = {name: row[name] for name in ("host", "pid", "started_at", "trouble", "trouble_since_at")}
    types = tuple(json.loads(row["types"]))
    return WorkerInfo(id=row["worker"], heartbeats=row["heartbeats"], types=types, **values)


def to_audit_entry(row: Row) -> AuditEntry:
    """Return the audit entry in a row."""
    return AuditEntry(**{name: row[name] for name in AuditEntry.__slots__})


def to_queue_depth(row: Row) -> QueueDepth:
    """Return the queue depth in a row."""
    return QueueDepth(row["channel"], QUEUES[row["queue"]], State(row["state"]), row["jobs"], row["oldest_run_at"])


def to_event(row: Row) -> Event:
    """Return the event in a row."""
    return Event(
        cursor=Cursor(row["xid"], row["seq"]),
        type=row["type"],
        at=row["at"],
        job_id=row["job_id"],
        data=json.loads(row["data"]),
    )


def set_owner(job: Job, owner: str, now: datetime) -> Job:
    """Return an uncertain job as claimed by the person, or the duty, that settles it."""
    return replace(job, claimed_by=owner, claimed_at=now)
