"""`/v1/jobs`: jobs of any type. The same endpoints exist under `/fp-publisher/v1/jobs` for existing clients."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi.responses import JSONResponse, Response
from pydantic import Field

from postino.api.authorization import authorize_job_type
from postino.api.caller import Caller
from postino.api.context import Context, RequestContext
from postino.api.idempotency import IdempotencyKey, make_response, parse_key, respond_once
from postino.api.models import JobId, Name, Strict
from postino.api.parsing import parse_time
from postino.api.query import (
    ACCOUNT,
    BRAND,
    CHANNEL,
    CURSOR,
    LIMIT,
    TYPE,
    QueryValues,
    choices_parameter,
    id_parameter,
    text_parameter,
)
from postino.api.routes import Link, Routes
from postino.api.views.explanations import render_evaluation
from postino.api.views.fields import to_json
from postino.api.views.jobs import render_attempt, render_job
from postino.api.visibility import choose_brand, get_visible_job, select_brands
from postino.client.types.jobs import JobDetailsView, JobPreviewView, JobView, QueuedJobView
from postino.client.types.schema import Doc, Page
from postino.engine.checks import MAX_ATTEMPTS, parse_queue
from postino.engine.enqueue import enqueue_with_retry
from postino.engine.explain import evaluate, list_handled_types
from postino.engine.job_spec import JobSpec
from postino.errors import Conflict, WrongUse
from postino.publishing.post_request import PAST_TOLERANCE
from postino.rules.blockers import describe_missing_handler
from postino.rules.retry import MAX_SECONDS
from postino.stores.operations.jobs import measure_job
from postino.stores.records import EnqueuedJob, JobFilter, NewJob
from postino.values.auth import Role
from postino.values.job import Job, State
from postino.values.post import POST, IdempotentRequest, ResponseRecorder, StoredResponse
from postino.wiring import Postino

routes = Routes("jobs")
LEGACY_PATH = "/fp-publisher/v1/jobs"
POST_TYPE = f"type: {POST!r} is the type of posts. Create posts with `POST /v1/posts`."
KEY_TAKEN = "idempotency_key: this key is taken on that channel. Choose another one. Nothing was queued."
STATE = choices_parameter("state", "Only jobs in one of these states, separated by commas.", [*State])
QUEUE = text_parameter("queue", "Only jobs of this queue: `high`, `default` or `low`.")
PARENT = id_parameter("parent", "Only jobs that this job has created (its children).", "the id of a job")


class JobBody(Strict):
    """A job to queue."""

    type: Annotated[Name, Doc("Type of the job, which selects its handler.")]
    channel: Annotated[
        Name | None,
        Doc(
            "Channel whose cap, circuit breaker and blackouts apply. Left out: the type of the job. The names of the"
            " networks that Postino publishes to are reserved for posts (422)."
        ),
    ] = None
    payload: Annotated[Any, Doc("Input of the handler: any JSON value.")] = None
    run_at: Annotated[
        str | None, Doc("When to run: ISO 8601 with an offset, or local to `timezone`. Left out: now.")
    ] = None
    timezone: Annotated[str | None, Doc("IANA time zone of times without an offset, such as `Europe/Rome`.")] = None
    idempotency_key: Annotated[
        Annotated[str, Field(min_length=1, max_length=500)] | None,
        Doc(
            "A key that is unique for the channel and the account; without an account, for the channel and the brand."
            " Postino queues no second job with the same key."
        ),
    ] = None
    queue: Annotated[str | None, Doc("Queue, which sets the priority: `high`, `default` or `low`.")] = None
    account: Annotated[
        Name | None, Doc("Account of the job. Jobs of one account on one channel run one at a time.")
    ] = None
    brand: Annotated[Name | None, Doc("Brand of the job. Left out: the brand of its account.")] = None
    user_id: Annotated[Name | None, Doc("Id of the user in your own system, for your own use.")] = None
    correlation_id: Annotated[Name | None, Doc("Correlation id, for your own use.")] = None
    max_attempts: Annotated[
        int | None,
        Field(json_schema_extra={"minimum": 1, "maximum": MAX_ATTEMPTS}),
        Doc("Maximum number of attempts. Left out: the default of the channel, else of the type."),
    ] = None
    time_limit: Annotated[
        float | None,
        Field(json_schema_extra={"exclusiveMinimum": 0, "maximum": MAX_SECONDS}),
        Doc("Maximum seconds per attempt; the time starts again with each step. Left out: the default."),
    ] = None
    preview: Annotated[bool, Doc("Return the job that the request would queue, and queue nothing.")] = False


@routes.add(
    "POST",
    "/v1/jobs",
    legacy_path=LEGACY_PATH,
    role=Role.EDITOR,
    responses={200: QueuedJobView | JobPreviewView, 201: QueuedJobView},
    errors={409: "The idempotency key belongs to another request, or to a job that you may not see."},
    links=(Link(201, "/v1/jobs/{job_id}", "/id"),),
)
async def create_job(body: JobBody, context: Context, key: IdempotencyKey = None) -> Response:
    """Create job.

    Queues a job (201). An owner may queue jobs of any type. An API key of another role may queue the types in its
    `job_types`, and a signed-in editor may queue none. If a job with the same `idempotency_key` exists, returns that
    job unchanged (200). With `preview`, returns the job that the request would queue, and queues nothing (200).
    """
    if body.type == POST:
        raise WrongUse(POST_TYPE, "type")
    authorize_job_type(context.caller, body.type)
    if body.preview:
        return JSONResponse(await preview_job(context, *await build_job(context, body)))
    return await queue_job(context, body, await parse_key(context, key, body))


@routes.add(
    "GET",
    "/v1/jobs",
    legacy_path=LEGACY_PATH,
    role=Role.VIEWER,
    query=(STATE, TYPE, CHANNEL, ACCOUNT, BRAND, QUEUE, PARENT, LIMIT, CURSOR),
    responses={200: Page[JobView]},
)
async def list_jobs(context: Context) -> JSONResponse:
    """List jobs.

    Returns unfinished and finished jobs, newest first. Posts are jobs of the type `postino.post`. A page with large
    payloads has fewer jobs than `limit`.
    """
    page = await context.app.store.jobs_page(parse_filter(context.query, context.caller))
    cursor = None if page.next is None else str(page.next)

    def render() -> JSONResponse:
        return JSONResponse({"data": [*map(render_job, page.jobs)], "next_cursor": cursor})

    return await context.services.beside_loop.run(render, sum(map(measure_job, page.jobs)))


@routes.add("GET", "/v1/jobs/{job_id}", role=Role.VIEWER, responses={200: JobDetailsView})
async def get_job(job_id: JobId, context: Context) -> JSONResponse:
    """Get job.

    Returns a job with all its attempts.
    """
    job = await get_visible_job(context.app, context.caller, job_id)
    attempts = [render_attempt(attempt) for attempt in await context.app.store.attempts(job_id)]
    return JSONResponse(render_job(job) | {"history": attempts})


async def queue_job(context: RequestContext, body: JobBody, key: IdempotentRequest | None) -> Response:
    """Queue a job. A repeated request with the same key is not even validated."""
    app, notes, handled = context.app, list[str](), set[str]()

    async def create(once: ResponseRecorder | None) -> Sequence[EnqueuedJob]:
        new, notes[:] = await build_job(context, body)
        handled.update(await list_handled_types(app.store))
        queued = await enqueue_with_retry(app.store, [new], once=once)
        app.wake([one.job for one in queued])
        return queued

    def render(queued: Sequence[EnqueuedJob]) -> StoredResponse:
        [(job, created)] = [(one.job, one.created) for one in queued]
        if not context.caller.can_see(job.brand):
            raise Conflict(KEY_TAKEN)
        all_notes = [*notes, *([] if created else [describe_existing(job)])]
        if job.state is State.PENDING and job.type not in handled:
            all_notes.append(f"{describe_missing_handler(job.type)} The job waits until one starts.")
        return make_response(201 if created else 200, render_job(job) | {"notes": all_notes})

    return await respond_once(app.store, key, render, create)


async def build_job(context: RequestContext, body: JobBody) -> tuple[NewJob, list[str]]:
    """Return the job of a body, and notes about its time."""
    app, notes = context.app, list[str]()
    run_at = await parse_run_at(app, body.run_at, body.timezone, notes)
    brand = await choose_brand(app, context.caller, body.brand, body.account)
    fields = body.model_dump(
        include={"type", "channel", "queue", "account", "user_id", "correlation_id", "max_attempts", "time_limit"}
    )
    spec = JobSpec(**fields, payload=body.payload, at=run_at, brand=brand, key=body.idempotency_key)
    return app.build_job(spec), notes


async def parse_run_at(app: Postino, text: str | None, timezone: str | None, notes: list[str]) -> datetime | None:
    """Parse the time of a job. Raises WrongUse if it has passed."""
    run_at = parse_time(text, timezone, "run_at", notes)
    if run_at is not None and run_at < await app.store.now() - PAST_TOLERANCE:
        message = f"run_at: {to_json(run_at)} has passed. Leave it out to run the job now. Nothing was queued."
        raise WrongUse(message, "run_at")
    return run_at


async def preview_job(context: RequestContext, new: NewJob, notes: list[str]) -> dict[str, Any]:
    """Render what would be queued, and whether it could run then. The key is not used up."""
    store = context.app.store
    known = None if new.key is None else await store.job_by_key(new.channel, new.key)
    if known is not None and not context.caller.can_see(known.brand):
        raise Conflict(KEY_TAKEN)
    lane = {"channel": new.channel, "account": new.account, "brand": new.brand, "queue": new.queue}
    run_at, evaluation = await evaluate(store, **lane, run_at=new.run_at, brands=context.caller.brands)
    names = ("type", "channel", "queue", "account", "brand", "user_id", "correlation_id", "max_attempts", "time_limit")
    return {
        "preview": True,
        **{name: to_json(getattr(new, name)) for name in names},
        **render_evaluation(new.channel, run_at, evaluation),
        "known": None if known is None else str(known.id),
        "notes": notes if known is None else [*notes, describe_existing(known)],
    }


def describe_existing(job: Job) -> str:
    match job.state:
        case State.CANCELLED:
            state = "was cancelled, which is final. Use another key to run it anyway"
        case State.FAILED:
            state = "failed. Replay it to run it"
        case other:
            state = f"is {other}"
    return f"Job {job.id} has this key and {state}. This request changed nothing."


def parse_filter(query: QueryValues, caller: Caller) -> JobFilter:
    queue = query[QUEUE]
    return JobFilter(
        states=tuple(map(State, query[STATE])),
        type=query[TYPE],
        channel=query[CHANNEL],
        account=query[ACCOUNT],
        brands=select_brands(caller, query[BRAND]),
        queue=None if queue is None else parse_queue(queue),
        parent_id=query[PARENT],
        before=query[CURSOR],
        limit=query[LIMIT],
    )
