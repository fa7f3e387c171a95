"""`/v1/uncertain`: jobs that may have taken effect, what the ledger knows of them, and lookups on their network."""

from typing import Any

from fastapi.responses import JSONResponse

from postino.api.context import Context
from postino.api.models import JobId
from postino.api.query import ACCOUNT, BRAND, CHANNEL, CURSOR, LIMIT, TYPE
from postino.api.routes import Link, Routes
from postino.api.views.fields import omit, to_json
from postino.api.views.jobs import render_attempt, render_job
from postino.api.views.posts import get_last_error, needs_person, render_history
from postino.api.visibility import get_editable_job, get_visible_job, select_brands
from postino.client.types.schema import Page
from postino.client.types.uncertain import (
    LookupCandidateView,
    LookupResultView,
    UncertainJobDetailsView,
    UncertainJobView,
)
from postino.errors import Conflict
from postino.publishing.lookup import PostLookup, look_up_post
from postino.rules.ledger import list_uncertain_intents
from postino.stores.records import JobFilter
from postino.values.auth import Role
from postino.values.job import Job, State
from postino.wiring import Postino, open_http

routes = Routes("uncertain")
MAX_LISTED = 50  # each needs its ledger
NOT_UNCERTAIN = "The job is not uncertain."


@routes.add(
    "GET",
    "/v1/uncertain",
    role=Role.VIEWER,
    query=(TYPE, CHANNEL, ACCOUNT, BRAND, LIMIT, CURSOR),
    responses={200: Page[UncertainJobView]},
    links=(Link(200, "/v1/uncertain/{job_id}", "/data/0/id"),),
)
async def list_uncertain_jobs(context: Context) -> JSONResponse:
    """List uncertain jobs.

    Returns uncertain jobs, newest first, at most 50 per page, and fewer if their payloads are large.
    """
    query = context.query
    limit = min(query[LIMIT], MAX_LISTED)
    criteria = JobFilter(
        states=(State.UNCERTAIN,),
        type=query[TYPE],
        channel=query[CHANNEL],
        account=query[ACCOUNT],
        brands=select_brands(context.caller, query[BRAND]),
        before=query[CURSOR],
        limit=limit,
    )
    page = await context.app.store.jobs_page(criteria)
    cursor = None if page.next is None else str(page.next)
    data = [await render_uncertain_job(context.app, job) for job in page.jobs]
    return JSONResponse({"data": data, "next_cursor": cursor})


@routes.add(
    "GET",
    "/v1/uncertain/{job_id}",
    role=Role.VIEWER,
    responses={200: UncertainJobDetailsView},
    errors={409: NOT_UNCERTAIN},
)
async def get_uncertain_job(job_id: JobId, context: Context) -> JSONResponse:
    """Get uncertain job.

    Returns an uncertain job with its intents, receipts and attempts.
    """
    job = await get_visible_job(context.app, context.caller, job_id)
    check_uncertain(job)
    attempts = [omit(render_attempt(attempt), "trace") for attempt in await context.app.store.attempts(job_id)]
    return JSONResponse(await render_uncertain_job(context.app, job) | {"history": attempts})


@routes.add(
    "POST",
    "/v1/uncertain/{job_id}/lookup",
    role=Role.EDITOR,
    responses={200: LookupResultView},
    errors={409: f"{NOT_UNCERTAIN} Or the database may be a copy or a backup, so Postino asks no network."},
)
async def look_up_uncertain_job(job_id: JobId, context: Context) -> JSONResponse:
    """Look up uncertain job.

    Searches the network for the post. `result` is `found` (then `candidates` lists the posts), `not_found` or
    `cannot_tell`. The request changes nothing; use `POST /v1/jobs/{job_id}/resolve` to record the result.
    """
    app = context.app
    job = await get_editable_job(app, context.caller, job_id)
    check_uncertain(job)
    async with open_http(app) as open_client:
        result = await look_up_post(app.store, app.accounts, app.networks.providers, open_client, job)
    return JSONResponse(render_lookup_result(result))


async def render_uncertain_job(app: Postino, job: Job) -> dict[str, Any]:
    ledger = await app.store.ledger(job.id)
    history = render_history([], ledger)
    return render_job(job) | {
        "trouble": get_last_error(job),
        "needs_person": needs_person(job),
        "in_doubt": [f"{intent.step}, attempt {intent.number}" for intent in list_uncertain_intents(ledger)],
        "intents": history["intents"],
        "receipts": history["receipts"],
    }


def check_uncertain(job: Job) -> None:
    if job.state is not State.UNCERTAIN:
        raise Conflict(f"Job {job.id} is {job.state}, not uncertain.")


def render_lookup_result(result: PostLookup) -> LookupResultView:
    candidates: list[LookupCandidateView] = [{"remote_id": one.remote_id, "url": one.url} for one in result.candidates]
    return {"result": to_json(result.kind), "reason": result.why, "candidates": candidates}
