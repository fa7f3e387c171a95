"""Why a post or a job has not run, and whether one could at a time. Nothing is changed by asking."""

from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from postino.api.caller import caller_of
from postino.api.jobs import FORMER, time_of
from postino.api.models import Strict
from postino.api.query import query_of
from postino.api.views.explanations import render_evaluation, render_explanation
from postino.api.visibility import choose_brand, get_visible_job, get_visible_post
from postino.engine.explain import evaluate, explain
from postino.values import time_zones
from postino.wiring import Postino


class TestBody(Strict):
    """`POST /v1/jobs/test`: a job that is only thought of."""

    channel: str
    account: str | None = None
    brand: str | None = None
    queue: str | None = None
    run_at: str | None = None
    timezone: str | None = None


def routes(app: Postino) -> APIRouter:
    router = APIRouter(tags=["explaining"])

    @router.get("/v1/posts/{post_id}/explain")
    async def of_post(post_id: UUID, request: Request) -> JSONResponse:
        """Why it has not gone out: a sentence, in `timezone` if one is given, and what is in its way."""
        await get_visible_post(app, caller_of(request), post_id)
        return await told(post_id, request)

    @router.get("/v1/jobs/{job_id}/explain")
    async def of_job(job_id: UUID, request: Request) -> JSONResponse:
        """The same of any job."""
        await get_visible_job(app, job_id, caller_of(request))
        return await told(job_id, request)

    @router.post(f"{FORMER}/v1/jobs/test", name="test_as_before")
    @router.post("/v1/jobs/test")
    async def test(body: TestBody, request: Request) -> JSONResponse:
        """Whether it could run at `run_at`; left out: now. Nothing is inserted; a channel that never was is refused."""
        notes: list[str] = []
        await choose_brand(app, caller_of(request), body.brand, body.account)
        await app.gate_control.check_channel(body.channel, app.config.channels)
        asked_at = await time_of(app, body.run_at, body.timezone, notes)
        whose = {"channel": body.channel, "account": body.account, "brand": body.brand, "queue": body.queue}
        run_at, evaluation = await evaluate(app.store, **whose, run_at=asked_at)
        return JSONResponse(render_evaluation(body.channel, run_at, evaluation) | {"notes": notes})

    async def told(job_id: UUID, request: Request) -> JSONResponse:
        name = query_of(request, "timezone").get("timezone")
        zone = None if name is None else time_zones.get_zone(name)
        return JSONResponse(render_explanation(await explain(app.store, job_id, zone=zone)))

    return router
