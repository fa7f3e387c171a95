"""`/v1/dead-letters`: jobs that failed. They stay until a person replays or discards them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi.responses import JSONResponse
from pydantic import Field

from postino.api.context import Context, RequestContext
from postino.api.job_actions import IDS_OR_FILTER, Ids, OneId, ReplayJobBody, render_failure
from postino.api.models import JobId, Name, Reason, RequiredReasonBody, Strict
from postino.api.query import (
    ACCOUNT,
    BRAND,
    CHANNEL,
    CURSOR,
    LIMIT,
    TYPE,
    choice_parameter,
    flag_parameter,
)
from postino.api.routes import Link, Routes
from postino.api.views.fields import render_fields
from postino.api.views.jobs import PayloadBudget, render_dead_letter, render_dead_letter_summary, render_job
from postino.api.visibility import get_editable_dead_letter, get_visible_dead_letter, select_brands
from postino.client.types.dead_letters import (
    BulkDeadLetterResultView,
    DeadLetterDetailsView,
    DeadLetterGroupView,
    DeadLetterView,
)
from postino.client.types.jobs import BulkJobResultView, JobView
from postino.client.types.schema import Doc, Page
from postino.errors import Conflict, NotFound, WrongUse
from postino.rules.error_groups import generalize_error
from postino.rules.settlement import DeadLetterCause
from postino.stores.operations.dead_letters import measure_dead_letter
from postino.stores.operations.pagination import MAX_PAGE_BYTES, cut_page
from postino.stores.records import DeadLetterFilter
from postino.values.auth import Role

routes = Routes("dead letters")
MAX_LETTERS = 200
MAX_SEARCHED = 2000  # for those of one error
MAX_GROUPED = 10_000
NO_REASON = "reason: say why; it is stored with the dead letter."
LetterAction = Callable[[UUID], Awaitable[dict[str, Any]]]
CAUSE = choice_parameter("cause", "Only dead letters with this cause.", [*DeadLetterCause])
RESOLVED = flag_parameter("resolved", "List dead letters that were replayed or discarded, instead of open ones.")


class DeadLetterFilterBody(Strict):
    """A filter for dead letters, newest jobs first."""

    type: Annotated[Name | None, Doc("Jobs of this type.")] = None
    channel: Annotated[Name | None, Doc("Jobs of this channel.")] = None
    account: Annotated[Name | None, Doc("Jobs of this account.")] = None
    brand: Annotated[Name | None, Doc("Jobs of this brand.")] = None
    cause: Annotated[
        Annotated[DeadLetterCause, Field(strict=False)] | None, Doc("Jobs that failed for this cause.")
    ] = None
    error: Annotated[
        Annotated[str, Field(max_length=500)] | None, Doc("Jobs with this error: the `error` of a group.")
    ] = None
    before: Annotated[
        OneId | None, Doc("Only jobs older than the job with this id: the `next_cursor` of the last response.")
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_LETTERS), Doc("Maximum number of dead letters.")] = MAX_LETTERS


class DeadLettersBody(Strict):
    """Dead letters, by `ids` or `filter`, and the reason."""

    ids: Annotated[Ids | None, Doc("Ids of the jobs.")] = None
    filter: Annotated[DeadLetterFilterBody | None, Doc("Selects the dead letters, if you pass no `ids`.")] = None
    reason: Annotated[Reason, Doc("The reason, for the audit trail.")] = ""


class ReplayDeadLettersBody(DeadLettersBody):
    """Dead letters to replay, and the rate."""

    per_second: Annotated[
        Annotated[float, Field(ge=0.001, le=1000)] | None,
        Doc("Maximum number of jobs that start per second. Left out: all start at once."),
    ] = None
    force: Annotated[bool, Doc("Replay even jobs with the cause `permanent`, `poison` or `given_up`.")] = False


@routes.add(
    "GET",
    "/v1/dead-letters",
    role=Role.VIEWER,
    query=(TYPE, CHANNEL, ACCOUNT, BRAND, CAUSE, RESOLVED, LIMIT, CURSOR),
    responses={200: Page[DeadLetterView]},
    links=(Link(200, "/v1/dead-letters/{job_id}", "/data/0/id"),),
)
async def list_dead_letters(context: Context) -> JSONResponse:
    """List dead letters.

    Returns open dead letters, newest jobs first. With `resolved=true`, returns replayed and discarded dead letters.
    A page with large payloads has fewer entries than `limit`.
    """
    query = context.query
    cause, limit = query[CAUSE], query[LIMIT]
    criteria = DeadLetterFilter(
        type=query[TYPE],
        channel=query[CHANNEL],
        account=query[ACCOUNT],
        brands=select_brands(context.caller, query[BRAND]),
        cause=None if cause is None else DeadLetterCause(cause),
        resolved=query[RESOLVED],
        before=query[CURSOR],
        limit=limit + 1,
        max_bytes=MAX_PAGE_BYTES,
    )
    letters = await context.app.store.dead_letters(criteria)
    page, has_more = cut_page(letters, limit, measure_dead_letter)
    cursor = str(page[-1].job.id) if has_more else None

    def render() -> JSONResponse:
        return JSONResponse({"data": [*map(render_dead_letter_summary, page)], "next_cursor": cursor})

    return await context.services.beside_loop.run(render, sum(map(measure_dead_letter, page)))


@routes.add(
    "GET", "/v1/dead-letters/groups", role=Role.VIEWER, query=(BRAND,), responses={200: Page[DeadLetterGroupView]}
)
async def list_dead_letter_groups(context: Context) -> JSONResponse:
    """List dead letter groups.

    Returns the latest 10,000 open dead letters in groups by cause, channel, type and error, largest group first.
    """
    brands = select_brands(context.caller, context.query[BRAND])
    groups = await context.app.store.error_groups(MAX_GROUPED, brands)
    return JSONResponse({"data": [render_fields(group) for group in groups], "next_cursor": None})


@routes.add("POST", "/v1/dead-letters/replay", role=Role.EDITOR, responses={200: BulkJobResultView})
async def replay_dead_letters(body: ReplayDeadLettersBody, context: Context) -> JSONResponse:
    """Replay dead letters.

    Runs up to 200 failed jobs again, at the given rate, and returns the result of each. With a filter, pass
    `next_cursor` as `filter.before` to continue. Payloads of jobs after the first 2 MB are null in the response.
    """
    store = context.app.store
    ids, cursor = await select_letters(context, body)
    act, now = context.act(body.reason), await store.now()
    run_at = dict(zip(ids, spread_out(now, len(ids), body.per_second), strict=True))

    budget = PayloadBudget()

    async def replay(job_id: UUID) -> dict[str, Any]:
        job = await store.replay_dead_letter(job_id, None, body.force, act, run_at=run_at[job_id])
        return {"job": render_job(budget.shorten(job))}

    results = await run_each(context, ids, replay)
    context.app.wakeup.notify()
    return JSONResponse({"data": results, "next_cursor": cursor})


@routes.add("POST", "/v1/dead-letters/discard", role=Role.EDITOR, responses={200: BulkDeadLetterResultView})
async def discard_dead_letters(body: DeadLettersBody, context: Context) -> JSONResponse:
    """Discard dead letters.

    Closes up to 200 dead letters without running their jobs again; `reason` is required. The records stay. Payloads
    after the first 2 MB are null in the response.
    """
    if not body.reason.strip():
        raise WrongUse(NO_REASON, "reason")
    ids, cursor = await select_letters(context, body)

    budget = PayloadBudget()

    async def discard(job_id: UUID) -> dict[str, Any]:
        letter = await context.app.discard(job_id, reason=body.reason, actor=context.caller.name)
        return {"dead_letter": render_dead_letter_summary(replace(letter, job=budget.shorten(letter.job)))}

    return JSONResponse({"data": await run_each(context, ids, discard), "next_cursor": cursor})


@routes.add("GET", "/v1/dead-letters/{job_id}", role=Role.VIEWER, responses={200: DeadLetterDetailsView})
async def get_dead_letter(job_id: JobId, context: Context) -> JSONResponse:
    """Get dead letter.

    Returns why a job failed, with its payload, its attempts and the last stack trace.
    """
    return JSONResponse(render_dead_letter(await get_visible_dead_letter(context.app, context.caller, job_id)))


@routes.add(
    "POST",
    "/v1/dead-letters/{job_id}/replay",
    role=Role.EDITOR,
    responses={200: JobView},
    errors={409: "The dead letter is closed, or its cause requires `force`."},
)
async def replay_dead_letter(job_id: JobId, context: Context, body: ReplayJobBody | None = None) -> JSONResponse:
    """Replay dead letter.

    Runs a failed job again, with another payload if you pass one. The payload of a post cannot be replaced.
    """
    letter = await get_editable_dead_letter(context.app, context.caller, job_id)
    arguments = (body or ReplayJobBody()).to_arguments(context.caller, letter.job)
    return JSONResponse(render_job(await context.app.replay(job_id, **arguments, actor=context.caller.name)))


@routes.add(
    "POST",
    "/v1/dead-letters/{job_id}/discard",
    role=Role.EDITOR,
    responses={200: DeadLetterDetailsView},
    errors={409: "The dead letter is closed."},
)
async def discard_dead_letter(job_id: JobId, body: RequiredReasonBody, context: Context) -> JSONResponse:
    """Discard dead letter.

    Closes a dead letter without running its job again. The record stays.
    """
    await get_editable_dead_letter(context.app, context.caller, job_id)
    if not body.reason.strip():
        raise WrongUse(NO_REASON, "reason")
    letter = await context.app.discard(job_id, reason=body.reason, actor=context.caller.name)
    return JSONResponse(render_dead_letter(letter))


async def select_letters(context: RequestContext, body: DeadLettersBody) -> tuple[Sequence[UUID], str | None]:
    """Return the ids of the jobs, and the cursor of those that follow."""
    if (body.ids is None) is (body.filter is None):
        raise WrongUse(IDS_OR_FILTER, "ids")
    if body.ids is not None:
        return list(dict.fromkeys(body.ids)), None
    filters = body.filter
    assert filters is not None, "either ids or a filter is given"
    criteria = DeadLetterFilter(
        type=filters.type,
        channel=filters.channel,
        account=filters.account,
        brands=select_brands(context.caller, filters.brand),
        cause=filters.cause,
        before=filters.before,
        limit=filters.limit + 1,
        max_bytes=MAX_PAGE_BYTES,
    )
    if filters.error is not None:
        return await search_error(context, criteria, filters.error, filters.limit)
    letters = await context.app.store.dead_letters(criteria)
    page, has_more = cut_page(letters, filters.limit, measure_dead_letter)
    return [letter.job.id for letter in page], str(page[-1].job.id) if has_more else None


async def search_error(
    context: RequestContext, criteria: DeadLetterFilter, error: str, limit: int
) -> tuple[Sequence[UUID], str | None]:
    """Search dead letters page by page for one error, up to a maximum."""
    ids: list[UUID] = []
    for _ in range(MAX_SEARCHED // MAX_LETTERS):
        page = await context.app.store.dead_letters(replace(criteria, limit=MAX_LETTERS))
        for letter in page:
            if generalize_error(letter.error) == error:
                ids.append(letter.job.id)
            if len(ids) == limit:
                return ids, str(letter.job.id)
        if not page:
            return ids, None
        criteria = replace(criteria, before=page[-1].job.id)
    return ids, str(criteria.before)


async def run_each(context: RequestContext, ids: Sequence[UUID], action: LetterAction) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    for job_id in ids:
        try:
            await get_editable_dead_letter(context.app, context.caller, job_id)
            results.append({"id": str(job_id), "done": True, **await action(job_id)})
        except (Conflict, NotFound) as error:
            results.append(render_failure(job_id, error))
    return results


def spread_out(now: datetime, count: int, per_second: float | None) -> list[datetime | None]:
    """Return when each of them starts; None means at once."""
    if per_second is None:
        return [None] * count
    return [now + timedelta(seconds=number / per_second) for number in range(count)]
