"""Actions on jobs, one or many. Each is written to the audit trail; one that is refused does not stop the others."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi.responses import JSONResponse
from pydantic import Field

from postino.api.authorization import authorize_job_type
from postino.api.caller import Caller
from postino.api.context import Context, RequestContext
from postino.api.jobs import LEGACY_PATH
from postino.api.models import JobId, Name, Reason, ReasonBody, ReplayBody, ResolveBody, Strict
from postino.api.parsing import parse_verdict
from postino.api.problems import get_status
from postino.api.routes import Routes
from postino.api.views.jobs import PayloadBudget, render_job
from postino.api.visibility import get_editable_job, select_brands
from postino.client.types.jobs import BulkJobResultView, JobView
from postino.client.types.schema import Doc
from postino.engine.checks import parse_queue
from postino.engine.job_spec import encode_payload
from postino.errors import Conflict, NotFound, WrongUse
from postino.stores.records import JobFilter
from postino.values.auth import Role
from postino.values.job import Job, State
from postino.values.outcome import Reject, Retry
from postino.values.post import POST

routes = Routes("jobs")
MAX_JOBS = 200
IDS_OR_FILTER = "ids: give either `ids` or `filter`."
TOO_WIDE = "filter: select jobs by `state`, `type`, `channel`, `account`, `brand` or `queue`."
JobAction = Callable[[UUID], Awaitable[Job]]
OneState = Annotated[State, Field(strict=False)]
OneId = Annotated[UUID, Field(strict=False)]
Ids = Annotated[list[OneId], Field(min_length=1, max_length=MAX_JOBS)]


class JobFilterBody(Strict):
    """A filter for jobs, newest first."""

    state: Annotated[list[OneState], Field(max_length=len(State)), Doc("Jobs in one of these states.")] = Field(
        default_factory=list
    )
    type: Annotated[Name | None, Doc("Jobs of this type.")] = None
    channel: Annotated[Name | None, Doc("Jobs of this channel.")] = None
    account: Annotated[Name | None, Doc("Jobs of this account.")] = None
    brand: Annotated[Name | None, Doc("Jobs of this brand.")] = None
    queue: Annotated[str | None, Doc("Jobs of this queue.")] = None
    before: Annotated[
        OneId | None, Doc("Only jobs older than the job with this id: the `next_cursor` of the last response.")
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_JOBS), Doc("Maximum number of jobs.")] = MAX_JOBS


class ReplayJobBody(ReplayBody):
    """Options for replaying a failed job."""

    payload: Annotated[Any, Doc("Another payload, not for posts. Left out: the job keeps its payload.")] = None

    def to_arguments(self, caller: Caller, job: Job) -> dict[str, Any]:
        """Return the arguments of the replay. Raises 403 if the caller may not queue jobs with such a payload."""
        if "payload" in self.model_fields_set and job.type != POST:
            authorize_job_type(caller, job.type)
        payload = encode_payload(self.payload) if "payload" in self.model_fields_set else None
        return {"payload": payload, "force": self.force, "reason": self.reason}


class BulkBody(Strict):
    """One action for many jobs, selected by `ids` or `filter`."""

    action: Annotated[Literal["cancel", "replay", "resolve"], Doc("What to do with each job.")]
    ids: Annotated[Ids | None, Doc("Ids of the jobs.")] = None
    filter: Annotated[JobFilterBody | None, Doc("Selects the jobs, if you pass no `ids`.")] = None
    reason: Annotated[Reason, Doc("The reason, for the audit trail. Required for `resolve`.")] = ""
    force: Annotated[bool, Doc("Replay even jobs with the cause `permanent`, `poison` or `given_up`.")] = False
    verdict: Annotated[Literal["send_again", "give_up"] | None, Doc("For `resolve`: the decision about all jobs.")] = (
        None
    )


@routes.add("POST", "/v1/jobs/bulk", role=Role.EDITOR, responses={200: BulkJobResultView})
async def run_bulk_action(body: BulkBody, context: Context) -> JSONResponse:
    """Run bulk action.

    Cancels, replays or resolves up to 200 jobs and returns the result of each. With a filter, pass `next_cursor` as
    `filter.before` to continue. Payloads and results of jobs after the first 2 MB are null in the response.
    """
    ids, cursor = await select_jobs(context, body)
    action = choose_action(context, body)

    async def run(job_id: UUID) -> Job:
        await get_editable_job(context.app, context.caller, job_id)
        return await action(job_id)

    return JSONResponse({"data": await run_each(ids, run), "next_cursor": cursor})


@routes.add(
    "POST",
    "/v1/jobs/{job_id}/cancel",
    role=Role.EDITOR,
    responses={200: JobView},
    errors={409: "The job has ended, has sent or may have sent something, or is running and is not a post."},
)
async def cancel_job(job_id: JobId, context: Context, body: ReasonBody | None = None) -> JSONResponse:
    """Cancel job.

    Cancels a pending job of which Postino has sent nothing. Also cancels a running post, as long as Postino cannot have
    sent a part of it. You cannot undo this.
    """
    await get_editable_job(context.app, context.caller, job_id)
    reason = body.reason if body else ""
    return JSONResponse(render_job(await context.app.cancel(job_id, reason=reason, actor=context.caller.name)))


@routes.add(
    "POST",
    "/v1/jobs/{job_id}/replay",
    legacy_path=f"{LEGACY_PATH}/{{job_id}}/replay",
    role=Role.EDITOR,
    responses={200: JobView},
    errors={409: "The job has not failed, or the cause of its failure requires `force`."},
)
async def replay_job(job_id: JobId, context: Context, body: ReplayJobBody | None = None) -> JSONResponse:
    """Replay job.

    Runs a failed job again, with another payload if you pass one. The job keeps its id, its key and its history.
    The payload of a post cannot be replaced: a replay publishes the content that is recorded for the post.
    """
    job = await get_editable_job(context.app, context.caller, job_id)
    arguments = (body or ReplayJobBody()).to_arguments(context.caller, job)
    return JSONResponse(render_job(await context.app.replay(job_id, **arguments, actor=context.caller.name)))


@routes.add(
    "POST",
    "/v1/jobs/{job_id}/resolve",
    role=Role.EDITOR,
    responses={200: JobView},
    errors={409: "The job is not uncertain."},
)
async def resolve_job(job_id: JobId, body: ResolveBody, context: Context) -> JSONResponse:
    """Resolve job.

    Records what a person decides about an uncertain job: the job succeeded, run it again, or give up.
    """
    await get_editable_job(context.app, context.caller, job_id)
    verdict, actor = parse_verdict(body), context.caller.name
    return JSONResponse(render_job(await context.app.resolve(job_id, verdict, reason=body.reason, actor=actor)))


async def select_jobs(context: RequestContext, body: BulkBody) -> tuple[Sequence[UUID], str | None]:
    """Return the ids of the jobs, and the cursor of those that follow."""
    if (body.ids is None) is (body.filter is None):
        raise WrongUse(IDS_OR_FILTER, "ids")
    if body.ids is not None:
        return list(dict.fromkeys(body.ids)), None
    filters = body.filter
    assert filters is not None, "either ids or a filter is given"
    if not any((filters.state, filters.type, filters.channel, filters.account, filters.brand, filters.queue)):
        raise WrongUse(TOO_WIDE, "filter")
    criteria = JobFilter(
        states=tuple(filters.state),
        type=filters.type,
        channel=filters.channel,
        account=filters.account,
        brands=select_brands(context.caller, filters.brand),
        queue=None if filters.queue is None else parse_queue(filters.queue, "filter.queue"),
        before=filters.before,
        limit=filters.limit,
    )
    page = await context.app.store.jobs_page(criteria)
    return [job.id for job in page.jobs], None if page.next is None else str(page.next)


def choose_action(context: RequestContext, body: BulkBody) -> JobAction:
    app = context.app
    audit: dict[str, Any] = {"reason": body.reason, "actor": context.caller.name}
    if body.action != "resolve":
        if body.verdict is not None:
            raise WrongUse("verdict: it is only for `resolve`.", "verdict")
        if body.action == "cancel":
            return lambda job_id: app.cancel(job_id, **audit)
        return lambda job_id: app.replay(job_id, force=body.force, **audit)
    if body.verdict is None:
        raise WrongUse("verdict is missing: send_again or give_up. Resolve published jobs one by one.", "verdict")
    if not body.reason.strip():
        raise WrongUse("reason: say why; it is stored in the audit trail.", "reason")
    verdict = Retry(body.reason) if body.verdict == "send_again" else Reject(body.reason)
    return lambda job_id: app.resolve(job_id, verdict, **audit)


async def run_each(ids: Sequence[UUID], action: JobAction) -> list[dict[str, Any]]:
    """Run the action on each job in a transaction of its own; a conflict is the result of that job."""
    results, budget = list[dict[str, Any]](), PayloadBudget()
    for job_id in ids:
        try:
            job = budget.shorten(await action(job_id))
            results.append({"id": str(job_id), "done": True, "job": render_job(job)})
        except (Conflict, NotFound) as error:
            results.append(render_failure(job_id, error))
    return results


def render_failure(job_id: UUID, error: Conflict | NotFound) -> dict[str, Any]:
    return {"id": str(job_id), "done": False, "status": get_status(error), "detail": str(error)}
