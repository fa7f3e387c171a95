"""`/v1/workers`: the registered worker processes."""

from collections import Counter

from fastapi.responses import JSONResponse

from postino.api.context import Context
from postino.api.routes import Routes
from postino.api.views.fields import render_fields
from postino.client.types.schema import Page
from postino.client.types.workers import WorkerView
from postino.engine.explain import filter_living_workers
from postino.stores.records import JobFilter
from postino.values.auth import Role
from postino.values.job import State

routes = Routes("workers")
MAX_RUNNING = 10_000


@routes.add("GET", "/v1/workers", role=Role.VIEWER, all_brands=True, responses={200: Page[WorkerView]})
async def list_workers(context: Context) -> JSONResponse:
    """List workers.

    Returns each worker with the number of jobs it runs. A live worker's `heartbeats` increase.
    """
    store = context.app.store
    workers = await store.workers()
    living = {worker.id for worker in filter_living_workers(workers)}
    jobs = await store.jobs(JobFilter(states=(State.RUNNING,), limit=MAX_RUNNING)) if workers else ()
    running = Counter(job.claimed_by for job in jobs)
    data = [render_fields(one) | {"running": running[one.id], "here": one.id in living} for one in workers]
    return JSONResponse({"data": data, "next_cursor": None})
