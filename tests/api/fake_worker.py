"""A worker for tests: claims due jobs in a server's database and ends them as the test says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from postino.rules.retry import Exponential, RetryPolicy
from postino.rules.settlement import settle_job
from postino.stores.records import ClaimRequest, SettledJob, WorkerInfo
from postino.stores.sqlite import Sqlite
from postino.stores.store import Store
from postino.values.job import Job, new_id
from postino.values.outcome import Done, Outcome
from tests.api.processes import Client, Process, Reply

POLICY = RetryPolicy(1, Exponential(60))
WORKER = "fake"


def work(household: Process, ending: Callable[[Job], Outcome] = lambda _: Done()) -> list[Job]:
    """End every due job like this, and return the jobs."""
    return asyncio.run(run_due_jobs(household, ending))


async def run_due_jobs(household: Process, ending: Callable[[Job], Outcome]) -> list[Job]:
    store = Store(Sqlite(household.folder / "postino.db"))
    await store.open()
    try:
        await store.register_worker(WorkerInfo(id=WORKER, host="elsewhere", pid=1))
        order = ClaimRequest(worker=WORKER, token=new_id(), free=500, poll=await store.poll(WORKER))
        jobs = await store.claim(order)
        now = datetime.now(UTC)
        await store.settle([SettledJob(job, settle_job(job, ending(job), POLICY, now, 0)) for job in jobs])
        await store.unregister_worker(WORKER)
        return jobs
    finally:
        await store.close()


def put(client: Client, **fields: Any) -> Any:
    """Create a job of a test's own type."""
    reply = client.ask("POST", "/v1/jobs", {"type": "report", "payload": {}, **fields})
    assert reply.status in (200, 201), reply
    return reply.json


def key_for(household: Process, *brands: str, role: str = "owner") -> Client:
    """Return a client whose key has access to these brands only."""
    body = {"name": f"of {' and '.join(brands)} {new_id()}", "role": role, "brands": [*brands]}
    reply = household.api.ask("POST", "/v1/api-keys", body)
    assert reply.status == 201, reply
    return Client(household.ready["url"], {"Authorization": f"Bearer {reply.json['key']}"})


def same_refusal(one: Reply, other: Reply, *names: str) -> bool:
    """Tell whether two 404 responses differ only in these names."""
    first, second = (dict(reply.json) | {"request_id": None} for reply in (one, other))
    results = [str(it["detail"]) for it in (first, second)]
    for name in names:
        results = [words.replace(name, "…") for words in results]
    return one.status == other.status == 404 and results[0] == results[1]
