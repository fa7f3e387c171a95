"""What `explain` needs to know about a job. It reads; `rules.blockers` decides."""

import json
from collections import defaultdict
from dataclasses import replace
from uuid import UUID

from postino.rules.blockers import MAX_AHEAD, JobSnapshot, RunningJob, UncertainJob
from postino.rules.gates import compute_closed_gates
from postino.rules.settlement import DeadLetterCause
from postino.stores.operations.circuits import list_account_circuits
from postino.stores.operations.gates import read_gate_sources, to_gate_sources
from postino.stores.records import (
    AuditEntry,
    ExplainInput,
    WorkerInfo,
)
from postino.stores.rows import to_audit_entry
from postino.stores.statement import Operation, Row, ask
from postino.values.event import EventType
from postino.values.job import Job, State
from postino.values.post import AccountState


def read_explain_input(job: Job) -> Operation[ExplainInput]:
    """Return all that may keep a job from running, for a stored or a hypothetical job.

    Running jobs are counted by the statement that claims use.
    """
    gate_sources, now = yield from read_gate_sources()
    closed_brands = sorted({*compute_closed_gates(gate_sources, now).brands} - {job.brand})
    counted = yield ask("count_running_jobs", channels=[job.channel])
    rows = yield ask(
        "get_circumstances",
        id=job.id,
        channel=job.channel,
        account=job.account,
        closed_brands=closed_brands,
        lane=job.lane,
        queue=job.queue.value,
        type=job.type,
        run_at=job.run_at or now,
        started=job.lane is not None and (job.may_be_live or job.ignore_blackouts),
        most_ahead=MAX_AHEAD + 1,
    )
    kinds: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        kinds[row["kind"]].append(row)
    accounts = [] if job.account is None else (yield ask("find_accounts", ids=[job.account]))
    circuits = (yield from list_account_circuits([job.account])) if job.account is not None else {}
    cause, cancelled = yield from find_ending(job)
    facts = JobSnapshot(
        job=job,
        gate_sources=replace(
            gate_sources,
            gates=(*gate_sources.gates, *to_gate_sources(kinds).gates),
            breakers=(*gate_sources.breakers, *circuits.values()),
        ),
        running_by_brand={row["brand"]: row["running"] for row in counted},
        uncertain_jobs=tuple(UncertainJob(row["detail"], row["name"], row["due_at"]) for row in kinds["doubt"]),
        running_job=next((RunningJob(UUID(row["name"]), row["detail"], row["due_at"]) for row in kinds["busy"]), None),
        jobs_ahead=kinds["ahead"][0]["amount"],
        publish_until_at=next((row["due_at"] for row in kinds["until"]), None),
        cause=cause,
        cancelled_by=cancelled,
        account_state=next((AccountState(row["state"]) for row in accounts), None),
    )
    workers = tuple(to_registered_worker(row) for row in kinds["worker"])
    return ExplainInput(facts, workers, now)


def to_registered_worker(row: Row) -> WorkerInfo:
    detail = json.loads(row["detail"])
    types = tuple(json.loads(detail["types"]))
    return WorkerInfo(id=row["name"], host=detail["host"], pid=row["amount"], types=types)


def find_ending(job: Job) -> Operation[tuple[DeadLetterCause | None, str | None]]:
    """Return why a job failed, or who cancelled it and why."""
    if job.state is State.FAILED:
        rows = yield ask("get_dead_letter_cause", id=job.id, generation=job.generation)
        return (DeadLetterCause(rows[0]["cause"]) if rows else None), None
    if job.state is State.CANCELLED:
        rows = yield ask("find_audit_entry", subject=str(job.id), action=EventType.CANCELLED.value)
        return None, describe_action(to_audit_entry(rows[0])) if rows else None
    return None, None


def describe_action(entry: AuditEntry) -> str:
    """Name the person who acted, with the reason."""
    return f"by {entry.actor} ({entry.reason.rstrip('.')})" if entry.reason else f"by {entry.actor}"
