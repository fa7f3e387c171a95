"""A worker for the fuzzer: ends the due jobs of the target as their payloads say."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from postino.config import load_config
from postino.rules.retry import Exponential, RetryPolicy
from postino.rules.settlement import DeadLetterCause, Settlement, make_failure, settle_job
from postino.stores.records import ClaimRequest, SettledJob, WorkerInfo
from postino.values.gate import Scope
from postino.values.job import Job, new_id
from postino.values.outcome import Done, Reject, Retry, Unknown
from postino.wiring import Postino
from tests.fuzz.target import Target

WORKER, STAYS = "fake", "stays"
ONCE = RetryPolicy(1, Exponential(60))
OFTEN = RetryPolicy(5, Exponential(86_400))
ENDINGS: Mapping[str, Any] = {
    "works": Done(result={"url": "https://example.org/1"}, remote_id=None),
    "tries again": Retry("The network was busy."),
    "exhausted": Retry("The network was busy, 3 times."),
    "permanent": Reject("The network does not want it."),
    "missed": Reject("It was to be out by a time that has passed.", missed=True),
    "poison": make_failure("Its payload cannot be read.", DeadLetterCause.POISON),
    "worker_killer": make_failure("The worker died under this job 3 times.", DeadLetterCause.WORKER_KILLER),
    "uncertain": Unknown("The answer was lost."),
}


async def work(target: Target, endings: Mapping[str, str]) -> None:
    """Settle each job as its id says; a job that `stays` is claimed and never settled."""
    async with Postino(load_config(target.folder, environment=target.settings)) as app:
        store = app.store
        await store.register_worker(WorkerInfo(id=WORKER, host="elsewhere", pid=1))
        while True:
            order = ClaimRequest(worker=WORKER, token=new_id(), free=500, poll=await store.poll(WORKER))
            jobs = await store.claim(order)
            if not jobs:
                break
            ended = [job for job in jobs if endings[str(job.id)] != STAYS]
            await store.settle([SettledJob(job, settle_as(job, endings[str(job.id)])) for job in ended])
        soon = datetime(2031, 1, 1, tzinfo=UTC)
        await store.start_cooldown(Scope.CHANNEL, "pinterest", soon, "The network wants fewer calls.")


def settle_as(job: Job, word: str) -> Settlement:
    ending = ENDINGS[word]
    if isinstance(ending, Settlement):
        return ending
    return settle_job(job, ending, OFTEN if word == "tries again" else ONCE, datetime.now(UTC), 0)
