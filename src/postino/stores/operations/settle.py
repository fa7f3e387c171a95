"""Settle jobs: write state, attempt, event, dead letter and lane hint together, fenced by the claim's token."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

from postino.errors import WrongUse
from postino.rules.lifecycle import can_move
from postino.rules.settlement import Settlement
from postino.stores.operations.post_events import make_settled_event, write_post_events
from postino.stores.operations.text import clean_text
from postino.stores.records import SettledJob
from postino.stores.statement import Operation, ask, each, to_array
from postino.values.event import EventType
from postino.values.job import Job, State
from postino.values.post import POST


def settle(jobs: Sequence[SettledJob], again: bool = False) -> Operation[set[UUID]]:
    """Settle jobs and return the ids of those whose claim was still valid."""
    completed, finished, unfinished = group_by_kind(jobs)
    stored_ids: set[UUID] = set()
    if completed:
        rows = yield ask(
            "settle_completed",
            id=[settled.job.id for settled in completed],
            token=[settled.job.token for settled in completed],
            remote_id=to_array([clean_text(settled.settlement.remote_id) for settled in completed]),
            result=to_array([clean_text(settled.settlement.result) for settled in completed]),
            data=[make_success_data(settled) for settled in completed],
        )
        stored_ids.update(row["id"] for row in rows)
    if finished:
        rows = yield each("settle_finished", [make_finished_row(settled) for settled in finished])
        stored_ids.update(row["id"] for row in rows)
    if unfinished:
        rows = yield each("settle_unfinished", [make_unfinished_row(settled) for settled in unfinished])
        stored_ids.update(row["id"] for row in rows)
    posts = [settled for settled in jobs if settled.job.type == POST and settled.job.id in stored_ids]
    events = [make_settled_event(settled.job, settled.settlement) for settled in posts]
    yield from write_post_events(event for event in events if event is not None)
    if again:
        missing = [make_attempt_row(settled) for settled in jobs if settled.job.id not in stored_ids]
        stored_ids |= {row["id"] for row in (yield each("find_settled", missing))}
    return stored_ids


def needs_transaction(jobs: Sequence[SettledJob]) -> bool:
    """Return whether settling these jobs takes several statements, of which a failing one must undo the others."""
    return sum(map(bool, group_by_kind(jobs))) > 1 or any(settled.job.type == POST for settled in jobs)


def group_by_kind(jobs: Sequence[SettledJob]) -> tuple[list[SettledJob], list[SettledJob], list[SettledJob]]:
    """Return jobs a worker completed, jobs that end otherwise, and unfinished jobs. Each kind is one statement."""
    completed: list[SettledJob] = []
    finished: list[SettledJob] = []
    unfinished: list[SettledJob] = []
    for settled in jobs:
        state, job = settled.settlement.state, settled.job
        if settled.settlement.event is EventType.COMPLETED and job.state is State.RUNNING and job.token is not None:
            completed.append(settled)
        else:
            (finished if state.is_final else unfinished).append(settled)
    return completed, finished, unfinished


def make_attempt_row(settled: SettledJob) -> dict[str, Any]:
    """Return the columns that all kinds share. Raises WrongUse for a move that the lifecycle forbids."""
    job, settlement, error = settled.job, settled.settlement, settled.error
    if not can_move(job.state, settlement.state):
        raise WrongUse(f"Job {job.id} is {job.state} and cannot become {settlement.state}.", field="state")
    return {
        "id": job.id,
        "token": job.token,
        "state": settlement.state.value,
        "error": clean_text(settlement.error),
        "number": job.attempts,
        "started_at": job.claimed_at,
        "worker": job.claimed_by,
        "outcome": (settlement.event or EventType.RESCUED).value.partition(".")[2],
        "error_class": clean_text(error.error_class) if error else None,
        "message": clean_text(error.message if error else settlement.error),
        "trace": clean_text(error.trace) if error else None,
        "event": settlement.event,
        "data": make_event_data(job, settlement),
    }


def make_finished_row(settled: SettledJob) -> dict[str, Any]:
    """Return the columns of a job that ends other than completed by a worker."""
    settlement = settled.settlement
    return make_attempt_row(settled) | {
        "remote_id": clean_text(settlement.remote_id),
        "result": clean_text(settlement.result),
        "cause": settlement.cause,
    }


def make_unfinished_row(settled: SettledJob) -> dict[str, Any]:
    """Return the columns of a job that is pending again, or uncertain."""
    settlement = settled.settlement
    return make_attempt_row(settled) | {
        "run_at": settlement.run_at,
        "refund": settlement.refund,
        "rescued": settlement.rescued,
        "deferral_reason": clean_text(settlement.deferral_reason),
        "rate_limited": settlement.rate_limited,
        # A deferral or a claim given back is no attempt, so it leaves no row in the history.
        "recorded": settlement.event not in (None, EventType.DEFERRED),
    }


def make_event_data(job: Job, settlement: Settlement) -> str:
    """Return the data of the event, besides its type and its job."""
    data = {
        "type": job.type,
        "channel": job.channel,
        "attempts": job.attempts,
        "error": clean_text(settlement.error),
        "cause": settlement.cause,
        "reason": clean_text(settlement.deferral_reason),
        "remote_id": clean_text(settlement.remote_id),
        "run_at": settlement.next_run_at.isoformat() if settlement.next_run_at else None,
    }
    return json.dumps({name: value for name, value in data.items() if value is not None})


def make_success_data(settled: SettledJob) -> str:
    """Return the data of a completed job's event."""
    job, settlement = settled.job, settled.settlement
    remote_id = settlement.remote_id or job.remote_id
    return encode_success(job.type, job.channel, job.attempts, clean_text(remote_id))


@lru_cache(1024)
def encode_success(type_: str, channel: str, attempts: int, remote_id: str | None) -> str:
    """Encode the data of a completed job's event; most jobs of a type share it."""
    data = {"type": type_, "channel": channel, "attempts": attempts, "remote_id": remote_id}
    return json.dumps({name: value for name, value in data.items() if value is not None})
