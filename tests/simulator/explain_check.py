"""Compares what `explain` says with the claim that follows. The claim is rolled back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from postino.engine.explain import add_living_workers
from postino.rules.explain import Explanation, explain_job
from postino.stores.driver import drive
from postino.stores.operations.claims import claim
from postino.stores.operations.database import read_database_state
from postino.stores.operations.explain import read_explain_input
from postino.stores.operations.jobs import list_jobs
from postino.stores.operations.poll import poll
from postino.stores.operations.workers import register_worker
from postino.stores.records import ClaimRequest, JobFilter, WorkerInfo
from postino.stores.sqlite_thread import execute
from postino.stores.statement import Operation
from postino.values.database import Standing
from postino.values.job import Job, State
from postino.values.post import POST

if TYPE_CHECKING:
    from tests.simulator.life import Life
    from tests.simulator.oracle import Promise

WAITING = (State.PENDING, State.UNCERTAIN)
PROBE = "probe"  # a worker with free slots, which exists for one claim
TOKEN = UUID(int=1)
SLOTS = 100
T = TypeVar("T")


def check_explanations(life: Life) -> None:
    """What `explain` calls runnable is claimed by a worker with free slots, and what it calls blocked is not."""
    connection = life.database.connection
    connection.execute("SAVEPOINT probe")
    try:
        run = Runner(life)
        if run.do(read_database_state()).standing is not Standing.OPEN:
            return
        run.do(register_worker(WorkerInfo(id=PROBE, host=PROBE, pid=1, types=(POST,))))
        jobs = run.do(list_jobs(JobFilter(states=WAITING, limit=SLOTS)))
        explained = {job.id: run.explain(job) for job in jobs}
        request = ClaimRequest(worker=PROBE, token=TOKEN, free=SLOTS, poll=run.do(poll(PROBE, types=[POST])))
        claimed = run.do(claim(request))
        capped = {*request.poll.gate_sources.caps} | {it.service for it in request.poll.gate_sources.breakers}
    finally:
        connection.execute("ROLLBACK TO probe")
        connection.execute("RELEASE probe")
    compare(life, {job.id: job for job in jobs}, explained, claimed, capped)


def compare(
    life: Life, jobs: Mapping[UUID, Job], explained: Mapping[UUID, Explanation], claimed: list[Job], capped: set[str]
) -> None:
    """Fail the life where the claim does not do what `explain` says."""
    for job in claimed:
        if not explained[job.id].runnable:
            life.fail(f"explain: {name(life, job)} is claimed, although {explained[job.id].sentence}")
    taken = {job.id for job in claimed}
    accounts, channels = Counter(job.account for job in claimed), Counter(job.channel for job in claimed)
    for job_id, explanation in explained.items():
        job = jobs[job_id]
        is_behind = accounts[job.account] or (job.channel in capped and channels[job.channel])
        if explanation.runnable and job_id not in taken and not is_behind:
            life.fail(f"explain: no claim takes {name(life, job)}, although {explanation.sentence}")


def name(life: Life, job: Job) -> str:
    promise: Promise | None = life.oracle.promises.get(job.id)
    return f"post {promise.number if promise else job.id} of {job.account}"


class Runner:
    """Runs operations inside the open savepoint, at one instant."""

    def __init__(self, life: Life) -> None:
        self.connection, self.now = life.database.connection, life.database.clock()

    def do(self, operation: Operation[T]) -> T:
        return drive(operation, lambda query: execute(self.connection, query, self.now))

    def explain(self, job: Job) -> Explanation:
        state = self.do(read_explain_input(job))
        return explain_job(add_living_workers(state), state.now)
