"""Writing what became of jobs: fenced by the claim's token; history, events and dead letters with it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from postino.errors import WrongUse
from postino.event import EventType
from postino.job import Job
from postino.rules.lifecycle import may_move
from postino.rules.settlement import Settlement
from postino.store import Decide, Ending, Failure
from postino.stores import rows
from postino.stores.statement import Operation, ask, each


def settle(endings: Sequence[Ending]) -> Operation[set[UUID]]:
    finished = [finished_row(ending) for ending in endings if ending.settlement.state.is_final]
    live = [live_row(ending) for ending in endings if not ending.settlement.state.is_final]
    settled: set[UUID] = set()
    if finished:
        settled |= {row["id"] for row in (yield each("settle_finished", finished))}
    if live:
        settled |= {row["id"] for row in (yield each("settle_live", live))}
    return settled


def rescue(dead: Mapping[str, int], decide: Decide) -> Operation[list[Ending]]:
    buried = yield each("bury", [{"id": worker, "beats": beats} for worker, beats in dead.items()])
    suspects = {row["worker"]: row["suspect"] for row in buried}
    orphans = [rows.live_job(row) for row in (yield ask("lock_orphans"))]
    clock = yield ask("clock")
    died = Failure(None, "Its worker died.")
    endings = [
        Ending(job, decide(job, clock[0]["now_at"], suspects.get(job.claimed_by, str(job.id)) == str(job.id)), died)
        for job in orphans
    ]
    yield from settle(endings)
    return endings


def shared_row(ending: Ending) -> dict[str, Any]:
    job, settlement, failure = ending.job, ending.settlement, ending.failure
    if not may_move(job.state, settlement.state):
        raise WrongUse(f"Job {job.id} is {job.state} and cannot become {settlement.state}.", field="state")
    return {
        "id": job.id,
        "token": job.token,
        "state": settlement.state.value,
        "error": clean(settlement.error),
        "number": job.attempts,
        "started_at": job.claimed_at,
        "worker": job.claimed_by,
        "outcome": (settlement.event or EventType.RESCUED).value.partition(".")[2],
        "error_class": clean(failure.error_class) if failure else None,
        "message": clean(failure.message if failure else settlement.error),
        "trace": clean(failure.trace) if failure else None,
        "event": settlement.event,
        "data": story(job, settlement),
    }


def finished_row(ending: Ending) -> dict[str, Any]:
    settlement = ending.settlement
    return shared_row(ending) | {
        "remote_id": clean(settlement.remote_id),
        "result": clean(settlement.result),
        "cause": settlement.cause,
    }


def live_row(ending: Ending) -> dict[str, Any]:
    settlement = ending.settlement
    return shared_row(ending) | {
        "run_at": settlement.run_at,
        "refund": settlement.refund,
        "rescued": settlement.rescued,
        "deferred": clean(settlement.deferred),
        # A deferral or a claim given back is no attempt, so it leaves no line in the history.
        "recorded": settlement.event not in (None, EventType.DEFERRED),
    }


def story(job: Job, settlement: Settlement) -> str:
    """What the event tells, beyond its type and its job."""
    told = {
        "type": job.type,
        "channel": job.channel,
        "attempts": job.attempts,
        "error": clean(settlement.error),
        "cause": settlement.cause,
        "reason": clean(settlement.deferred),
        "remote_id": clean(settlement.remote_id),
        "run_at": settlement.run_at.isoformat() if settlement.run_at else None,
    }
    return json.dumps({name: value for name, value in told.items() if value is not None})


def clean(text: str | None) -> str | None:
    """Databases refuse half characters, PostgreSQL refuses NUL too; a stack trace may well contain either."""
    return text and text.replace("\x00", "\\x00").encode(errors="backslashreplace").decode()
