"""`/v1/workers`: who does the work."""

from collections import Counter

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from postino.api.query import query_of
from postino.api.views.fields import render_fields
from postino.engine.explain import living_workers
from postino.stores.records import JobFilter
from postino.values.job import State
from postino.wiring import Postino

MOST_RUNNING = 10_000


def routes(app: Postino) -> APIRouter:
    router = APIRouter(tags=["workers"])

    @router.get("/v1/workers")
    async def list_workers(request: Request) -> JSONResponse:
        """Registered workers: `heartbeats` go up while one lives, `here` is false where it is known to be gone."""
        query_of(request)
        workers = await app.store.workers()
        there = {worker.id for worker in living_workers(workers)}
        jobs = await app.store.jobs(JobFilter(states=(State.RUNNING,), limit=MOST_RUNNING)) if workers else ()
        running = Counter(job.claimed_by for job in jobs)
        data = [render_fields(one) | {"running": running[one.id], "here": one.id in there} for one in workers]
        return JSONResponse({"data": data, "next_cursor": None})

    return router
