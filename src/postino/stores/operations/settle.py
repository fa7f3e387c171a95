"""Writing what became of jobs: fenced by the claim's token; history, events and dead letters with it."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

from postino.errors import WrongUse
from postino.rules.lifecycle import may_move
from postino.rules.settlement import Settlement
from postino.stores.operations.text import clean_text
from postino.stores.records import SettledJob
from postino.stores.statement import Operation, ask, each, to_array
from postino.values.event import EventType
from postino.values.job import Job, State


def settle(endings: Sequence[SettledJob], again: bool = False) -> Operation[set[UUID]]:
    done, finished, live = group_by_kind(endings)
    settled: set[UUID] = set()
    if done:
        found = yield ask(
            "settle_completed",
            id=[ending.job.id for ending in done],
            token=[ending.job.token for ending in done],
            remote_id=to_array([clean_text(ending.settlement.remote_id) for ending in done]),
            result=to_array([clean_text(ending.settlement.result) for ending in done]),
            data=[make_success_data(ending) for ending in done],
        )
        settled.update(row["id"] for row in found)
    if finished:
        settled |= {
            row["id"] for row in (yield each("settle_finished", [make_finished_row(ending) for ending in finished]))
        }
    if live:
        settled |= {row["id"] for row in (yield each("settle_live", [make_live_row(ending) for ending in live]))}
    if again:
        missing = [make_attempt_row(ending) for ending in endings if ending.job.id not in settled]
        settled |= {row["id"] for row in (yield each("find_settled", missing))}
    return settled


def group_by_kind(endings: Sequence[SettledJob]) -> tuple[list[SettledJob], list[SettledJob], list[SettledJob]]:
    """Those that a worker completed, those that end otherwise, and those that go on. Each kind is one statement."""
    done: list[SettledJob] = []
    finished: list[SettledJob] = []
    live: list[SettledJob] = []
    for ending in endings:
        state, job = ending.settlement.state, ending.job
        if ending.settlement.event is EventType.COMPLETED and job.state is State.RUNNING and job.token is not None:
            done.append(ending)
        else:
            (finished if state.is_final else live).append(ending)
    return done, finished, live


def make_attempt_row(ending: SettledJob) -> dict[str, Any]:
    job, settlement, failure = ending.job, ending.settlement, ending.failure
    if not may_move(job.state, settlement.state):
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
        "error_class": clean_text(failure.error_class) if failure else None,
        "message": clean_text(failure.message if failure else settlement.error),
        "trace": clean_text(failure.trace) if failure else None,
        "event": settlement.event,
        "data": make_event_data(job, settlement),
    }


def make_finished_row(ending: SettledJob) -> dict[str, Any]:
    settlement = ending.settlement
    return make_attempt_row(ending) | {
        "remote_id": clean_text(settlement.remote_id),
        "result": clean_text(settlement.result),
        "cause": settlement.cause,
    }


def make_live_row(ending: SettledJob) -> dict[str, Any]:
    settlement = ending.settlement
    return make_attempt_row(ending) | {
        "run_at": settlement.run_at,
        "refund": settlement.refund,
        "rescued": settlement.rescued,
        "deferred": clean_text(settlement.deferred),
        "limited": settlement.limited,
        # A deferral or a claim given back is no attempt, so it leaves no line in the history.
        "recorded": settlement.event not in (None, EventType.DEFERRED),
    }


def make_event_data(job: Job, settlement: Settlement) -> str:
    """What the event tells, beyond its type and its job."""
    told = {
        "type": job.type,
        "channel": job.channel,
        "attempts": job.attempts,
        "error": clean_text(settlement.error),
        "cause": settlement.cause,
        "reason": clean_text(settlement.deferred),
        "remote_id": clean_text(settlement.remote_id),
        "run_at": settlement.run_at.isoformat() if settlement.run_at else None,
    }
    return json.dumps({name: value for name, value in told.items() if value is not None})


def make_success_data(ending: SettledJob) -> str:
    """The same words for most jobs of a type."""
    job, settlement = ending.job, ending.settlement
    known_as = settlement.remote_id or job.remote_id
    return encode_success(job.type, job.channel, job.attempts, clean_text(known_as))


@lru_cache(1024)
def encode_success(type_: str, channel: str, attempts: int, remote_id: str | None) -> str:
    told = {"type": type_, "channel": channel, "attempts": attempts, "remote_id": remote_id}
    return json.dumps({name: value for name, value in told.items() if value is not None})
