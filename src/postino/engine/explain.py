"""Explains why a job has not run, and whether a job could run at a time. Reads the store; `rules.explain` decides."""

import os
import socket
from collections.abc import Collection, Iterable
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

COLLISION_WINDOW = timedelta(minutes=1)
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
LAST_ID = UUID(int=(1 << 128) - 1)  # after all others in the order of claims


async def explain(
    store: Store,
    job_id: UUID,
    now: datetime | None = None,
    *,
    zone: ZoneInfo | None = None,
    brands: Collection[str] | None = None,
) -> Explanation:
    """Explain a job as it is now, or as it would be at another time if nothing else happened until then.

    With `brands`, no job of another brand is named.
    """
    state = await hide_other_brands(store, await store.explain_input(await store.job(job_id)), brands)
    return rule.explain_job(add_living_workers(state), now or state.now, zone)


async def evaluate(
    store: Store,
    *,
    channel: Any,
    account: Any = None,
    brand: Any = None,
    queue: Any = None,
    run_at: datetime | None = None,
    brands: Collection[str] | None = None,
) -> tuple[datetime, Evaluation]:
    """Evaluate whether a job like this could run at this time, or now if that is in the past. Inserts nothing."""
    channel, account = check_name(channel, "channel"), check_text("account", account)
    brand = check_text("brand", brand) or await find_brand(store, account, channel)
    rank = Queue.DEFAULT if queue is None else parse_queue(queue)
    run_at = check_time("run_at", run_at)
    state = await store.explain_input(make_hypothetical_job(channel, account, brand, rank, run_at))
    state = await hide_other_brands(store, state, brands)
    at = max(run_at or state.now, state.now)
    facts = replace(add_living_workers(state), has_handler=True)  # of a job whose type is not known
    facts = replace(facts, job=replace(facts.job, run_at=at))
    near = {"after_at": at - COLLISION_WINDOW, "before_at": at + COLLISION_WINDOW}
    collides = await store.has_collision(channel, account, brand, **near)
    return at, rule.evaluate_job(facts, collides, state.now)


def make_hypothetical_job(
    channel: str, account: str | None, brand: str | None, queue: Queue, run_at: datetime | None
) -> Job:
    return Job(
        id=LAST_ID,
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
    """Return the brand of a connected account; jobs of your own may use other account names, which have none."""
    if account is None:
        return None
    try:
        known = await store.account(account)
    except NotFound:
        return None
    if known.network != channel:
        message = f"account: {account} is on {known.network}, not on {channel}. Give {known.network} as the channel."
        raise WrongUse(message, field="account")
    return known.brand


async def hide_other_brands(store: Store, state: ExplainInput, brands: Collection[str] | None) -> ExplainInput:
    """Leave out which job occupies the account if it belongs to another brand: the account may have moved."""
    running = state.facts.running_job
    if brands is None or running is None or running.id is None:
        return state
    if (await store.brands_by_job([running.id])).get(running.id) in brands:
        return state
    return replace(state, facts=replace(state.facts, running_job=replace(running, id=None)))


def add_living_workers(state: ExplainInput) -> rule.JobSnapshot:
    living = [*filter_living_workers(state.workers)]
    has_handler = not living or any(state.facts.job.type in worker.types for worker in living)
    return replace(state.facts, live_workers=len(living), has_handler=has_handler)


async def list_handled_types(store: Store) -> set[str]:
    """Return the types of jobs that a living worker handles."""
    return {type_ for worker in filter_living_workers(await store.workers()) for type_ in worker.types}


def filter_living_workers(workers: Iterable[WorkerInfo]) -> Iterable[WorkerInfo]:
    """Leave out the workers of this machine whose process has ended: their rows stay until their lease is over."""
    host = socket.gethostname()
    return (worker for worker in workers if worker.host != host or is_alive(worker.pid))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
