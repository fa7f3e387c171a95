"""The end of a life: everything is opened, the dead are rescued, and each job must come to its end."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from postino.rules import settlement
from postino.rules.stored_settings import render_settings
from postino.stores.operations import blackouts, circuits, claims, gates, job_actions, rescue, settings, settle, workers
from postino.stores.operations.poll import poll
from postino.stores.records import ClaimRequest, SettledJob, WorkerInfo
from postino.values.job import Job
from postino.values.outcome import Done, Reject
from tests.simulator.interleaving.cast import Cast
from tests.simulator.interleaving.names import BULK_CHANNEL, CHANNEL
from tests.simulator.interleaving.rest import check_at_rest, check_audit
from tests.simulator.interleaving.users import AUDIT
from tests.simulator.interleaving.workers import POLICY

if TYPE_CHECKING:
    from tests.simulator.interleaving.life import Life

ROUNDS = 30
STEP = timedelta(minutes=20)
LAST = "the last worker"
UNFINISHED = "SELECT id, state, run_at FROM postino.jobs ORDER BY id"
OPEN_CIRCUITS = "SELECT service FROM postino.circuits WHERE state <> 'closed' ORDER BY service"


async def make_peace(life: Life, cast: Cast) -> None:
    """Open all gates and finish all jobs."""
    life.tell("all gates are opened, and all jobs shall end")
    await open_everything(life)
    for worker in await life.ask(workers.list_workers()):
        await life.ask(workers.unregister_worker(worker.id))
    life.oracle.rescued(await life.ask(rescue.rescue({}, settlement.rescue_job)))
    await life.ask(workers.register_worker(WorkerInfo(id=LAST, host="h", pid=1)))
    for _ in range(ROUNDS):
        life.now += STEP
        if not await finish_due(life):
            break
    for row in await life.sessions.watcher.fetch(UNFINISHED):
        life.fail(f"forgotten: {life.oracle.describe(row['id'])} is {row['state']}, to run at {row['run_at']}")
    if not life.failures:
        await check_at_rest(life)
    await check_audit(life)
    await cast.reader.read_rest()


async def open_everything(life: Life) -> None:
    for scope, name in [*life.oracle.closed]:
        await life.ask(gates.resume_scope(scope, name, AUDIT))
    for blackout in [*life.oracle.blackouts]:
        await life.ask(blackouts.remove_blackout(blackout, AUDIT))
    for row in await life.sessions.watcher.fetch(OPEN_CIRCUITS):
        await life.ask(circuits.close_circuit(row["service"], AUDIT))
    await life.ask(settings.write_settings(render_settings({}, []), "peace"))
    for channel in (CHANNEL, BULK_CHANNEL):
        await life.ask(gates.set_cap(channel, None, AUDIT))


async def finish_due(life: Life) -> bool:
    """Claim and finish what is due; return whether there may be more."""
    found = await life.ask(poll(LAST))
    jobs = await life.ask(claims.claim(ClaimRequest(worker=LAST, token=life.make_id(), free=50, poll=found)))
    await finish(life, jobs)
    stuck = await life.sessions.watcher.fetch(UNFINISHED)
    for row in stuck:
        if row["state"] == "uncertain" and row["run_at"] is None:
            life.oracle.resolved(
                await life.ask(job_actions.resolve_job(row["id"], Reject("peace"), AUDIT)), Reject("peace")
            )
    return bool(stuck)


async def finish(life: Life, jobs: list[Job]) -> None:
    if jobs:
        settled = [
            SettledJob(
                job, settlement.settle_job(job, Done() if job.lookup_at is None else Reject("?"), POLICY, life.now, 0)
            )
            for job in jobs
        ]
        await life.ask(settle.settle(settled))
