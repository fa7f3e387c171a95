"""Writing what became of jobs: fenced by the claim's token; history, events and dead letters with it."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

from postino.errors import WrongUse
from postino.rules.lifecycle import may_move
from postino.rules.settlement import Settlement
from postino.stores import rows
from postino.stores.records import Decide, Ending, Failure
from postino.stores.statement import Operation, ask, each, given
from postino.values.event import EventType
from postino.values.job import Job, State

DIED = Failure(None, "Its worker died.")
OVERDUE = Failure(None, "Its deadline passed, and its worker had not ended it.")


def settle(endings: Sequence[Ending], again: bool = False) -> Operation[set[UUID]]:
    done, finished, live = by_kind(endings)
    settled: set[UUID] = set()
    if done:
        found = yield ask(
            "settle_completed",
            id=[ending.job.id for ending in done],
            token=[ending.job.token for ending in done],
            remote_id=given([clean(ending.settlement.remote_id) for ending in done]),
            result=given([clean(ending.settlement.result) for ending in done]),
            data=[success(ending) for ending in done],
        )
        settled.update(row["id"] for row in found)
    if finished:
        settled |= {row["id"] for row in (yield each("settle_finished", [finished_row(ending) for ending in finished]))}
    if live:
        settled |= {row["id"] for row in (yield each("settle_live", [live_row(ending) for ending in live]))}
    if again:
        missing = [shared_row(ending) for ending in endings if ending.job.id not in settled]
        settled |= {row["id"] for row in (yield each("settled_before", missing))}
    return settled


def by_kind(endings: Sequence[Ending]) -> tuple[list[Ending], list[Ending], list[Ending]]:
    """Those that a worker completed, those that end otherwise, and those that go on. Each kind is one statement."""
    done: list[Ending] = []
    finished: list[Ending] = []
    live: list[Ending] = []
    for ending in endings:
        state, job = ending.settlement.state, ending.job
        if ending.settlement.event is EventType.COMPLETED and job.state is State.RUNNING and job.token is not None:
            done.append(ending)
        else:
            (finished if state.is_final else live).append(ending)
    return done, finished, live


def rescue(dead: Mapping[str, int], decide: Decide) -> Operation[list[Ending]]:
    buried = yield each("bury", [{"id": worker, "beats": beats} for worker, beats in dead.items()])
    suspects = {row["worker"]: row["suspect"] for row in buried}
    found = yield ask("lock_orphans")
    clock = yield ask("clock")
    endings = []
    for job, row in zip(rows.live_jobs(found), found, strict=True):
        suspect = row["suspect"] if row["overdue"] else suspects.get(job.claimed_by, str(job.id))
        settlement = decide(job, clock[0]["now_at"], suspect == str(job.id))
        endings.append(Ending(job, settlement, OVERDUE if row["overdue"] else DIED))
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
        "limited": settlement.limited,
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


def success(ending: Ending) -> str:
    """The same words for most jobs of a type."""
    job, settlement = ending.job, ending.settlement
    known_as = settlement.remote_id or job.remote_id
    return told_of_success(job.type, job.channel, job.attempts, clean(known_as))


@lru_cache(1024)
def told_of_success(type_: str, channel: str, attempts: int, remote_id: str | None) -> str:
    told = {"type": type_, "channel": channel, "attempts": attempts, "remote_id": remote_id}
    return json.dumps({name: value for name, value in told.items() if value is not None})


def clean(text: str | None) -> str | None:
    """Databases refuse half characters, PostgreSQL refuses NUL too; a stack trace may well contain either."""
    return text and text.replace("\x00", "\\x00").encode(errors="backslashreplace").decode()
