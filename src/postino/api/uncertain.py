"""`/v1/uncertain`: what may be out there. What the ledger knows of it, and what its network says when it is asked."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from postino.api.caller import caller_of
from postino.api.query import cursor_of, limit_of, query_of
from postino.api.views.fields import omit
from postino.api.views.jobs import render_attempt, render_job
from postino.api.views.posts import get_last_error, needs_person, render_history
from postino.api.visibility import get_editable_job, get_visible_job, select_brands
from postino.errors import Conflict
from postino.publishing.lookup import LookupResult, look_up_post
from postino.rules.ledger import list_uncertain_intents
from postino.stores.records import JobFilter
from postino.values.job import Job, State
from postino.wiring import Postino, open_http

MOST_SHOWN = 50


def routes(app: Postino) -> APIRouter:
    router = APIRouter(prefix="/v1/uncertain", tags=["uncertain"])

    @router.get("")
    async def list_uncertain(request: Request) -> JSONResponse:
        """The newest first, at most 50: `type`, `channel`, `account`, `brand`, `limit`, `cursor`."""
        query = query_of(request, "type", "channel", "account", "brand", "limit", "cursor")
        limit = min(limit_of(query), MOST_SHOWN)
        wanted = JobFilter(
            states=(State.UNCERTAIN,),
            type=query.get("type"),
            channel=query.get("channel"),
            account=query.get("account"),
            brands=select_brands(caller_of(request), query.get("brand")),
            before=cursor_of(query),
            limit=limit + 1,
        )
        found = await app.store.jobs(wanted)
        cursor = str(found[limit - 1].id) if len(found) > limit else None
        return JSONResponse({"data": [await told(job) for job in found[:limit]], "next_cursor": cursor})

    @router.get("/{job_id}")
    async def show_uncertain(job_id: UUID, request: Request) -> JSONResponse:
        """One of them, with every try."""
        job = await get_visible_job(app, job_id, caller_of(request))
        check_uncertain(job)
        tries = [omit(render_attempt(attempt), "trace") for attempt in await app.store.attempts(job_id)]
        return JSONResponse(await told(job) | {"history": tries})

    @router.post("/{job_id}/look")
    async def look_for_uncertain(job_id: UUID, request: Request) -> JSONResponse:
        """Asks the network now: `found` with the `candidates`, `not_found` or `cannot_tell`. Changes nothing."""
        job = await get_editable_job(app, job_id, caller_of(request))
        check_uncertain(job)
        async with open_http(app) as open_door:
            sight = await look_up_post(app.store, app.accounts, app.networks.providers, open_door, job)
        return JSONResponse(of_sight(sight))

    async def told(job: Job) -> dict[str, Any]:
        ledger = await app.store.ledger(job.id)
        history = render_history([], ledger)
        return render_job(job) | {
            "trouble": get_last_error(job),
            "needs_person": needs_person(job),
            "in_doubt": [f"{intent.step}, try {intent.number}" for intent in list_uncertain_intents(ledger)],
            "intents": history["intents"],
            "receipts": history["receipts"],
        }

    return router


def check_uncertain(job: Job) -> None:
    if job.state is not State.UNCERTAIN:
        raise Conflict(f"Job {job.id} is {job.state}, not uncertain.")


def of_sight(sight: LookupResult) -> dict[str, Any]:
    candidates = [{"remote_id": one.remote_id, "url": one.url} for one in sight.candidates]
    return {"sighting": sight.kind, "why": sight.why, "candidates": candidates}
