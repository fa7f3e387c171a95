"""Why a job has not run, and whether one could run at a time: reads what is, lets the rules tell, writes nothing."""

import os
import socket
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from postino.engine.checks import check_name, check_text, check_time, parse_queue
from postino.errors import NotFound, WrongUse
from postino.rules import explain as rule
from postino.rules.explain import Evaluation, Explanation
from postino.stores.records import ExplainInput, WorkerInfo
from postino.stores.store import Store
from postino.values.job import Job, Queue, State
from postino.values.post import POST

AT_THE_SAME_TIME = timedelta(minutes=1)
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
NOBODY = UUID(int=(1 << 128) - 1)  # behind all others


async def explain(
    store: Store, job_id: UUID, now: datetime | None = None, *, zone: ZoneInfo | None = None
) -> Explanation:
    """As it is now, or would be at another time if nothing else happened until then."""
    around = await store.explain_input(await store.job(job_id))
    return rule.explain_job(to_facts(around), now or around.now, zone)


async def evaluate(
    store: Store,
    *,
    channel: Any,
    account: Any = None,
    brand: Any = None,
    queue: Any = None,
    run_at: datetime | None = None,
) -> tuple[datetime, Evaluation]:
    """Whether a job like this could run at this time, which is now if it has passed. Nothing is inserted."""
    channel, account = check_name(channel, "channel"), check_text("account", account)
    brand = check_text("brand", brand) or await find_brand(store, account, channel)
    rank = Queue.DEFAULT if queue is None else parse_queue(queue)
    asked_at = check_time("run_at", run_at)
    around = await store.explain_input(make_hypothetical_job(channel, account, brand, rank, asked_at))
    at = max(asked_at or around.now, around.now)
    facts = to_facts(around)
    facts = replace(facts, job=replace(facts.job, run_at=at))
    near = {"after_at": at - AT_THE_SAME_TIME, "before_at": at + AT_THE_SAME_TIME}
    collides = await store.has_collision(channel, account, brand, **near)
    return at, rule.evaluate_job(facts, collides, around.now)


def make_hypothetical_job(
    channel: str, account: str | None, brand: str | None, queue: Queue, run_at: datetime | None
) -> Job:
    return Job(
        id=NOBODY,
        type=POST if account else channel,
        channel=channel,
        queue=queue,
        state=State.PENDING,
        payload=b"",
        idempotency_key="",
        scheduled_at=run_at or LONG_AGO,
        run_at=run_at,
        created_at=LONG_AGO,
        account=account,
        brand=brand,
    )


async def find_brand(store: Store, account: str | None, channel: str) -> str | None:
    """The account's, where it is one that Postino publishes by; other jobs may name accounts of their own."""
    if account is None:
        return None
    try:
        known = await store.account(account)
    except NotFound:
        return None
    if known.network != channel:
        message = f"account: {account} is on {known.network}, not on {channel}: give that as the channel."
        raise WrongUse(message, field="account")
    return known.brand


def to_facts(around: ExplainInput) -> rule.JobSnapshot:
    return replace(around.facts, workers=len([*living_workers(around.workers)]))


def living_workers(workers: Iterable[WorkerInfo]) -> Iterable[WorkerInfo]:
    """Without those of this machine that have ended: others bury them, but not before their lease is over."""
    here = socket.gethostname()
    return (worker for worker in workers if worker.host != here or is_alive(worker.pid))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
