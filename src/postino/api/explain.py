"""Explain why a post or job has not run, and evaluate whether a job could run at a time. Nothing is changed."""

from typing import Annotated
from uuid import UUID

from fastapi.responses import JSONResponse

from postino.api.context import Context, RequestContext
from postino.api.jobs import LEGACY_PATH, parse_run_at
from postino.api.models import JobId, PostId, Strict
from postino.api.query import text_parameter
from postino.api.routes import Routes
from postino.api.views.explanations import render_evaluation, render_explanation
from postino.api.visibility import choose_brand, get_visible_job, get_visible_post, select_brands
from postino.client.types.explain import ExplanationView
from postino.client.types.jobs import JobEvaluationView
from postino.client.types.schema import Doc
from postino.engine.explain import evaluate, explain
from postino.values.auth import Role
from postino.values.time_zones import get_zone

routes = Routes("explain")
TIMEZONE = text_parameter("timezone", "IANA time zone of the times in the sentences. Left out: UTC.")


class EvaluateBody(Strict):
    """A hypothetical job to evaluate."""

    channel: Annotated[str, Doc("Channel of the job; for posts this is the network.")]
    account: Annotated[str | None, Doc("Account of the job.")] = None
    brand: Annotated[str | None, Doc("Brand of the job. Left out: the brand of its account.")] = None
    queue: Annotated[str | None, Doc("Queue of the job: `high`, `default` or `low`.")] = None
    run_at: Annotated[
        str | None, Doc("When the job would run: ISO 8601 with an offset, or local to `timezone`. Left out: now.")
    ] = None
    timezone: Annotated[str | None, Doc("IANA time zone of times without an offset, such as `Europe/Rome`.")] = None


@routes.add("GET", "/v1/posts/{post_id}/explain", role=Role.VIEWER, query=(TIMEZONE,), responses={200: ExplanationView})
async def explain_post(post_id: PostId, context: Context) -> JSONResponse:
    """Explain post.

    Says in one sentence why a post has not been published. Lists what blocks the post and how to unblock it, and
    estimates when Postino will publish the post.
    """
    await get_visible_post(context.app, context.caller, post_id)
    return await explain_visible_job(context, post_id)


@routes.add("GET", "/v1/jobs/{job_id}/explain", role=Role.VIEWER, query=(TIMEZONE,), responses={200: ExplanationView})
async def explain_job(job_id: JobId, context: Context) -> JSONResponse:
    """Explain job.

    Says in one sentence why a job has not run. Lists what blocks the job and how to unblock it, and estimates when the
    job will run.
    """
    await get_visible_job(context.app, context.caller, job_id)
    return await explain_visible_job(context, job_id)


@routes.add(
    "POST",
    "/v1/jobs/test",
    legacy_path=f"{LEGACY_PATH}/test",
    role=Role.VIEWER,
    responses={200: JobEvaluationView},
)
async def evaluate_job(body: EvaluateBody, context: Context) -> JSONResponse:
    """Evaluate job.

    Returns whether a job could run at a given time, and what would block it. The request queues nothing. The channel
    must exist.
    """
    app, notes = context.app, list[str]()
    await choose_brand(app, context.caller, body.brand, body.account)
    await app.gate_control.check_channel(body.channel, app.config.channels, select_brands(context.caller))
    asked_at = await parse_run_at(app, body.run_at, body.timezone, notes)
    lane = {"channel": body.channel, "account": body.account, "brand": body.brand, "queue": body.queue}
    run_at, evaluation = await evaluate(app.store, **lane, run_at=asked_at, brands=context.caller.brands)
    return JSONResponse(render_evaluation(body.channel, run_at, evaluation) | {"notes": notes})


async def explain_visible_job(context: RequestContext, job_id: UUID) -> JSONResponse:
    name = context.query[TIMEZONE]
    zone = None if name is None else get_zone(name)
    explanation = await explain(context.app.store, job_id, zone=zone, brands=context.caller.brands)
    return JSONResponse(render_explanation(explanation))
