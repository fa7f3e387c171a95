"""A queue in a data directory with jobs in any state, to run commands on."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from postino import Job, Outcome, Postino
from postino.config import load_config
from postino.engine.claims import Claims
from postino.rules.retry import RetryPolicy
from postino.rules.settlement import settle_job
from postino.stores.records import AttemptError, SettledJob, WorkerInfo
from postino.values.job import new_id

T = TypeVar("T")


@dataclass(frozen=True)
class CommandResult:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        return json.loads(self.err)["error"]

    @property
    def rows(self) -> list[str]:
        return self.out.splitlines()


@dataclass(frozen=True)
class LocalQueue:
    """A queue in a data directory, whose jobs are settled without a worker."""

    folder: Path

    def perform(self, work: Callable[[Postino], Awaitable[T]]) -> T:
        async def run() -> T:
            async with Postino(load_config(self.folder, environment={})) as app:
                return await work(app)

        return asyncio.run(run())

    def enqueue(self, type: str = "post", payload: Any = None, **details: Any) -> Job:
        return self.perform(lambda app: app.enqueue(type, payload, **details))

    def add_settled_job(self, outcome: Outcome, failure: AttemptError | None = None, **details: Any) -> Job:
        """Return a job whose only attempt had this outcome."""

        async def work(app: Postino) -> Job:
            job = await app.enqueue("post", {"text": "ciao"}, **{"max_attempts": 1, **details})
            worker = str(new_id())
            await app.store.register_worker(WorkerInfo(id=worker, host="elsewhere", pid=1))
            poll = await app.store.poll(worker)
            claimed = await Claims(app.store, time.monotonic).claim(worker, poll, 100, False)
            policy = RetryPolicy(max_attempts=1)
            await app.store.settle(
                [SettledJob(it, settle_job(it, outcome, policy, poll.now, 0), failure) for it in claimed]
            )
            return await app.store.job(job.id)

        return self.perform(work)

    def get(self, job: Job) -> Job:
        return self.perform(lambda app: app.store.job(job.id))

    def last_audit(self) -> tuple[str, str, str, str]:
        line = self.perform(lambda app: app.store.audit(1))[0]
        return line.actor, line.action, line.subject, line.reason
