"""`/v1/jobs`: work of any type. The same under `/fp-publisher/v1/jobs`, for clients that know it from there."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from postino.api.caller import Caller, caller_of
from postino.api.idempotency import CallersKey, answer_of, answered, asked_of
from postino.api.models import Strict
from postino.api.parsing import instant
from postino.api.problems import nearest
from postino.api.query import cursor_of, limit_of, query_of
from postino.api.views.explanations import render_evaluation
from postino.api.views.fields import to_json
from postino.api.views.jobs import render_attempt, render_job
from postino.api.visibility import choose_brand, get_visible_job, select_brands
from postino.engine.checks import parse_queue
from postino.engine.enqueue import enqueue_with_retry
from postino.engine.explain import evaluate
from postino.engine.job_spec import JobSpec, build_new_job
from postino.errors import Conflict, WrongUse
from postino.publishing.post_request import PAST_TOLERANCE
from postino.stores.records import EnqueuedJob, JobFilter, NewJob
from postino.values.job import Job, Queue, State
from postino.values.post import POST, IdempotentRequest, ResponseRecorder, StoredResponse
from postino.wiring import Postino

FORMER = "/fp-publisher"
A_POST = f"type: {POST!r} is how posts are kept. Publish one with POST /v1/posts."
TAKEN = "idempotency_key: this key is taken on that channel. Choose another one. Nothing was queued."
Name = Annotated[str, Field(max_length=500)]


class JobBody(Strict):
    """`POST /v1/jobs`. What a type does with its payload is its handler's business."""

    type: Name
    channel: Name | None = None
    payload: Any = None
    run_at: str | None = None
    timezone: str | None = None
    idempotency_key: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    queue: str | None = None
    account: Name | None = None
    brand: Name | None = None
    user_id: Name | None = None
    correlation_id: Name | None = None
    max_attempts: int | None = None
    time_limit: float | None = None
    preview: bool = False


def routes(app: Postino) -> APIRouter:
    router = APIRouter(tags=["jobs"])

    @router.post(f"{FORMER}/v1/jobs", status_code=201, name="create_job_as_before")
    @router.post("/v1/jobs", status_code=201)
    async def create_job(body: JobBody, request: Request, key: CallersKey = None) -> Response:
        """Queues it: 201. A known key brings the known job: 200, as does a preview, which queues nothing."""
        caller = caller_of(request)
        if body.preview:
            return JSONResponse(await previewed(app, *await wanted(app, body, caller), caller))
        return await queued(app, body, caller, asked_of(request, caller, key, body))

    @router.get(f"{FORMER}/v1/jobs", name="list_jobs_as_before")
    @router.get("/v1/jobs")
    async def list_jobs(request: Request) -> JSONResponse:
        """The newest first: `state`, `type`, `channel`, `account`, `brand`, `queue`, `parent`, `limit`, `cursor`."""
        names = ("state", "type", "channel", "account", "brand", "queue", "parent", "limit", "cursor")
        query = query_of(request, *names)
        page = await app.store.jobs_page(filter_of(query, caller_of(request), limit_of(query)))
        cursor = None if page.next is None else str(page.next)
        return JSONResponse({"data": [render_job(job) for job in page.jobs], "next_cursor": cursor})

    @router.get("/v1/jobs/{job_id}")
    async def show_job(job_id: UUID, request: Request) -> JSONResponse:
        """One job, with every try."""
        job = await get_visible_job(app, job_id, caller_of(request))
        tries = [render_attempt(attempt) for attempt in await app.store.attempts(job_id)]
        return JSONResponse(render_job(job) | {"history": tries})

    return router


async def queued(app: Postino, body: JobBody, caller: Caller, asked: IdempotentRequest | None) -> Response:
    """Nothing of it is looked at where the very same was answered before."""
    said: list[str] = []

    async def make(once: ResponseRecorder | None) -> Sequence[EnqueuedJob]:
        new, notes = await wanted(app, body, caller)
        said[:] = notes
        made = await enqueue_with_retry(app.store, [new], once=once)
        app.wake([one.job for one in made])
        return made

    def told(made: Sequence[EnqueuedJob]) -> StoredResponse:
        [(job, created)] = [(one.job, one.created) for one in made]
        if not caller.sees(job.brand):
            raise Conflict(TAKEN)
        notes = [*said, *([] if created else [known_already(job)])]
        return answer_of(201 if created else 200, render_job(job) | {"notes": notes})

    return await answered(app.store, asked, told, make)


async def wanted(app: Postino, body: JobBody, caller: Caller) -> tuple[NewJob, list[str]]:
    """The job that is meant, and what to tell about its time."""
    if body.type == POST:
        raise WrongUse(A_POST, "type")
    notes: list[str] = []
    run_at = await time_of(app, body.run_at, body.timezone, notes)
    brand = await choose_brand(app, caller, body.brand, body.account)
    said = body.model_dump(
        include={"type", "channel", "queue", "account", "user_id", "correlation_id", "max_attempts", "time_limit"}
    )
    spec = JobSpec(**said, payload=body.payload, at=run_at, brand=brand, key=body.idempotency_key)
    handler = app.handlers.get(body.type)
    return build_new_job(spec, handler.queue if handler else Queue.DEFAULT), notes


async def time_of(app: Postino, text: str | None, timezone: str | None, notes: list[str]) -> datetime | None:
    """When it is to run. Raises WrongUse where that is over."""
    run_at = instant(text, timezone, "run_at", notes)
    if run_at is not None and run_at < await app.store.now() - PAST_TOLERANCE:
        raise WrongUse(f"run_at: {to_json(run_at)} is over. Leave it out to run it now. Nothing was queued.", "run_at")
    return run_at


async def previewed(app: Postino, new: NewJob, notes: list[str], caller: Caller) -> dict[str, Any]:
    """What would be queued, and whether it could run then. No key is used."""
    known = None if new.key is None else await app.store.job_by_key(new.channel, new.key)
    if known is not None and not caller.sees(known.brand):
        raise Conflict(TAKEN)
    whose = {"channel": new.channel, "account": new.account, "brand": new.brand, "queue": new.queue}
    run_at, evaluation = await evaluate(app.store, **whose, run_at=new.run_at)
    names = ("type", "channel", "queue", "account", "brand", "user_id", "correlation_id", "max_attempts", "time_limit")
    told = {name: to_json(getattr(new, name)) for name in names}
    if known is not None:
        notes.append(known_already(known))
    return {
        "preview": True,
        **told,
        **render_evaluation(new.channel, run_at, evaluation),
        "known": None if known is None else str(known.id),
        "notes": notes,
    }


def known_already(job: Job) -> str:
    match job.state:
        case State.CANCELLED:
            said = "it was cancelled, and that is final. Use another key to run it all the same"
        case State.FAILED:
            said = "it failed. Replay it to run it all the same"
        case state:
            said = f"it is {state}"
    return f"Job {job.id} has this key: {said}. This call changed nothing."


def filter_of(query: dict[str, str], caller: Caller, limit: int) -> JobFilter:
    return JobFilter(
        states=states_of(query.get("state")),
        type=query.get("type"),
        channel=query.get("channel"),
        account=query.get("account"),
        brands=select_brands(caller, query.get("brand")),
        queue=None if "queue" not in query else parse_queue(query["queue"]),
        parent_id=id_in(query, "parent"),
        before=cursor_of(query),
        limit=limit,
    )


def states_of(text: str | None) -> tuple[State, ...]:
    names = [] if text is None else text.split(",")
    for name in names:
        if name not in list(State):
            raise WrongUse(f"state: there is no {name[:40]!r}.{nearest(name, [*State])}", "state")
    return tuple(State(name) for name in names)


def id_in(query: dict[str, str], name: str) -> UUID | None:
    try:
        return None if name not in query else UUID(query[name])
    except ValueError:
        raise WrongUse(f"{name} must be the id of a job, not {query[name][:40]!r}.", name) from None
