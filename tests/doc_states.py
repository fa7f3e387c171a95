"""Jobs and posts in the state that a documented command needs."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from postino import Job, Postino, Retry, State, Unknown
from postino.config import load_config
from postino.publishing.post_request import PostRequest
from postino.rules.gates import GateSources
from postino.rules.retry import RetryPolicy
from postino.rules.settlement import settle_job
from postino.stores.operations import claims, gates
from postino.stores.records import AuditContext, ClaimRequest, JobFilter, SettledJob, WorkerInfo
from postino.stores.statement import Operation
from postino.stores.store import Store
from postino.values.content import Content
from postino.values.gate import Scope
from postino.values.job import new_id

CHANNEL = "rehearsal"
PATIENCE = 30.0
STATES = {"jobs cancel": State.PENDING, "jobs resolve": State.UNCERTAIN, "jobs show": State.PENDING}


def settled_jobs(data_dir: Path, type_: str, many: int) -> list[Job]:
    """Wait until this many jobs of a type exist and none of them is due; return them."""
    return asyncio.run(settle_some(data_dir, type_, many))


async def settle_some(data_dir: Path, type_: str, many: int) -> list[Job]:
    end = time.monotonic() + PATIENCE
    async with Postino(load_config(data_dir, environment={})) as app:
        while True:
            jobs = await app.store.jobs(JobFilter(type=type_, limit=2 * many))
            now = datetime.now(UTC)
            busy = [job for job in jobs if not job.state.is_final and job.run_at and job.run_at <= now]
            if len(jobs) >= many and not busy:
                return list(jobs)
            assert time.monotonic() < end, f"{len(jobs)} jobs, {len(busy)} of them due and not ended"
            await asyncio.sleep(0.2)


async def post_for(data_dir: Path, command: str) -> UUID:
    """Create a post that is scheduled for later, or one that was missed because its account is paused."""
    missed = command == "posts replay"
    async with Postino(load_config(data_dir, environment={})) as app:
        account = await app.accounts.add("telegram", CHANNEL, {"bot_token": "none"})
        await app.pause("account", account.id)
        soon = datetime.now(UTC) + timedelta(seconds=0.2)
        wish = PostRequest(
            content=Content(body=f"Made for the page at {soon}"),
            accounts=(account.id,),
            at=None if missed else soon + timedelta(days=1),
            publish_until_at=soon if missed else None,
        )
        [written] = await app.posts.schedule(wish)
        while missed and not (await app.store.job(written.post.job.id)).state.is_final:
            await app.store.fail_missed_posts(3600)
        return written.post.job.id


async def prepared_job(data_dir: Path, command: str) -> UUID:
    """Made by hand, on a paused channel, so that no worker of the page gets it first."""
    state = STATES.get(command, State.FAILED)
    async with Postino(load_config(data_dir, environment={})) as app:
        await app.pause("channel", CHANNEL)
        job = await app.enqueue(CHANNEL, {"made": "for the page"})
        if state is State.PENDING:
            return job.id
        await app.store.register_worker(WorkerInfo(id="rehearsal", host="page", pid=os.getpid()))
        poll = await app.store.poll("rehearsal")
        heads = tuple(head for head in poll.heads if head.channel == CHANNEL)
        ours = replace(poll, heads=heads, gate_sources=GateSources(), hinted=False)
        order = ClaimRequest(worker="rehearsal", token=new_id(), free=100, poll=ours)
        outcome = Unknown("No answer came back.") if state is State.UNCERTAIN else Retry("The other side was down.")
        decided = settle_job(job, outcome, RetryPolicy(max_attempts=0), poll.now, jitter=0)
        assert isinstance(app.store, Store)
        held = [claimed for claimed in await app.store.driver.transact(claim_alone(order)) if claimed.id == job.id]
        await app.store.settle([SettledJob(claimed, decided) for claimed in held])
        await app.store.unregister_worker("rehearsal")
        return job.id


def claim_alone(order: ClaimRequest) -> Operation[list[Job]]:
    """Opens the channel for this claim only: in one transaction, so that nobody else finds it open."""
    us = AuditContext("rehearsal")
    yield from gates.resume_scope(Scope.CHANNEL, CHANNEL, us)
    claimed = yield from claims.claim(order)
    yield from gates.pause_scope(Scope.CHANNEL, CHANNEL, us)
    return claimed
