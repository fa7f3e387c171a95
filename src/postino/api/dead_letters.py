"""`/v1/dead-letters`: what failed, until a person replays or discards it. Never by itself, and never all at once."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import Field

from postino.api.caller import Caller, caller_of
from postino.api.gates import flag_of
from postino.api.job_actions import ReplayJobBody, refused
from postino.api.jobs import Name
from postino.api.models import MOST_REASON, NeededReason, Strict
from postino.api.problems import nearest
from postino.api.query import cursor_of, limit_of, query_of
from postino.api.views.fields import render_fields
from postino.api.views.jobs import render_dead_letter, render_dead_letter_summary, render_job
from postino.api.visibility import get_editable_dead_letter, get_visible_dead_letter, select_brands
from postino.engine.actions import make_audit_context
from postino.errors import Conflict, NotFound, WrongUse
from postino.rules.error_groups import generalize_error
from postino.rules.settlement import DeadLetterCause
from postino.stores.records import DeadLetterFilter
from postino.wiring import Postino

MOST_AT_ONCE = 200
MOST_LOOKED_AT = 2000  # for those of one error
MOST_COUNTED = 10_000
EITHER = "ids: give either `ids` or `filter`."
NO_REASON = "reason: say why; it stays with what is discarded."
Deed = Callable[[UUID], Awaitable[dict[str, Any]]]


class LettersFilter(Strict):
    """Which, the newest jobs first; `error` is that of a group."""

    type: Name | None = None
    channel: Name | None = None
    account: Name | None = None
    brand: Name | None = None
    cause: Annotated[DeadLetterCause, Field(strict=False)] | None = None
    error: Annotated[str, Field(max_length=500)] | None = None
    before: Annotated[UUID, Field(strict=False)] | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_AT_ONCE)] = MOST_AT_ONCE


class LettersBody(Strict):
    ids: Annotated[list[Annotated[UUID, Field(strict=False)]], Field(min_length=1, max_length=MOST_AT_ONCE)] | None = (
        None
    )
    filter: LettersFilter | None = None
    reason: Annotated[str, Field(max_length=MOST_REASON)] = ""


class ReplayLettersBody(LettersBody):
    """`per_second` of them begin in a second; left out: all at once."""

    per_second: Annotated[float, Field(ge=0.001, le=1000)] | None = None
    force: bool = False


def routes(app: Postino) -> APIRouter:
    router = APIRouter(prefix="/v1/dead-letters", tags=["dead letters"])

    @router.get("")
    async def list_dead_letters(request: Request) -> JSONResponse:
        """The newest jobs first: `type`, `channel`, `account`, `brand`, `cause`, `resolved`, `limit`, `cursor`."""
        query = query_of(request, "type", "channel", "account", "brand", "cause", "resolved", "limit", "cursor")
        limit = limit_of(query)
        wanted = DeadLetterFilter(
            type=query.get("type"),
            channel=query.get("channel"),
            account=query.get("account"),
            brands=select_brands(caller_of(request), query.get("brand")),
            cause=cause_of(query.get("cause")),
            resolved=flag_of(query, "resolved"),
            before=cursor_of(query),
            limit=limit + 1,
        )
        found = await app.store.dead_letters(wanted)
        cursor = str(found[limit - 1].job.id) if len(found) > limit else None
        return JSONResponse(
            {"data": [render_dead_letter_summary(letter) for letter in found[:limit]], "next_cursor": cursor}
        )

    @router.get("/groups")
    async def group_dead_letters(request: Request) -> JSONResponse:
        """The open ones that failed alike, the largest group first; of the latest 10,000."""
        brands = select_brands(caller_of(request), query_of(request, "brand").get("brand"))
        groups = await app.store.error_groups(MOST_COUNTED, brands)
        return JSONResponse({"data": [render_fields(group) for group in groups], "next_cursor": None})

    @router.post("/replay")
    async def replay_dead_letters(body: ReplayLettersBody, request: Request) -> JSONResponse:
        """Runs them again, so many in a second: what became of each. With a filter, `next_cursor` goes on."""
        caller = caller_of(request)
        ids, cursor = await chosen(app, body, caller)
        whose, now = make_audit_context(caller.name, body.reason), await app.store.now()
        begin_at = dict(zip(ids, paced(now, len(ids), body.per_second), strict=True))

        async def again(job_id: UUID) -> dict[str, Any]:
            job = await app.store.replay_dead_letter(job_id, None, body.force, whose, run_at=begin_at[job_id])
            return {"job": render_job(job)}

        results = await each(app, ids, caller, again)
        app.wakeup.notify()
        return JSONResponse({"data": results, "next_cursor": cursor})

    @router.post("/discard")
    async def discard_dead_letters(body: LettersBody, request: Request) -> JSONResponse:
        """Lays them aside for good; `reason` is needed."""
        caller = caller_of(request)
        if not body.reason.strip():
            raise WrongUse(NO_REASON, "reason")
        ids, cursor = await chosen(app, body, caller)

        async def aside(job_id: UUID) -> dict[str, Any]:
            return {
                "dead_letter": render_dead_letter_summary(
                    await app.discard(job_id, reason=body.reason, actor=caller.name)
                )
            }

        return JSONResponse({"data": await each(app, ids, caller, aside), "next_cursor": cursor})

    @router.get("/{job_id}")
    async def show_dead_letter(job_id: UUID, request: Request) -> JSONResponse:
        """Why it failed, its payload, every try and the last stack trace."""
        return JSONResponse(render_dead_letter(await get_visible_dead_letter(app, job_id, caller_of(request))))

    @router.post("/{job_id}/replay")
    async def replay_dead_letter(job_id: UUID, request: Request, body: ReplayJobBody | None = None) -> JSONResponse:
        """Runs it again, with another `payload` if one is given."""
        caller, body = caller_of(request), body or ReplayJobBody()
        await get_editable_dead_letter(app, job_id, caller)
        return JSONResponse(render_job(await app.replay(job_id, **body.how(), actor=caller.name)))

    @router.post("/{job_id}/discard")
    async def discard_dead_letter(job_id: UUID, body: NeededReason, request: Request) -> JSONResponse:
        """Lays it aside for good: nothing runs again, the record stays."""
        caller = caller_of(request)
        await get_editable_dead_letter(app, job_id, caller)
        if not body.reason.strip():
            raise WrongUse(NO_REASON, "reason")
        return JSONResponse(render_dead_letter(await app.discard(job_id, reason=body.reason, actor=caller.name)))

    return router


async def chosen(app: Postino, body: LettersBody, caller: Caller) -> tuple[Sequence[UUID], str | None]:
    """The ids, and from where on there may be more."""
    if (body.ids is None) is (body.filter is None):
        raise WrongUse(EITHER, "ids")
    if body.ids is not None:
        return list(dict.fromkeys(body.ids)), None
    said = body.filter
    assert said is not None, "there are no ids"
    brands = select_brands(caller, said.brand)
    wanted = DeadLetterFilter(
        type=said.type, channel=said.channel, account=said.account, brands=brands, cause=said.cause,
        before=said.before, limit=said.limit + 1,
    )  # fmt: skip
    if said.error is None:
        found = [letter.job.id for letter in await app.store.dead_letters(wanted)]
        return found[: said.limit], str(found[said.limit - 1]) if len(found) > said.limit else None
    return await of_one_error(app, wanted, said.error, said.limit)


async def of_one_error(
    app: Postino, wanted: DeadLetterFilter, error: str, most: int
) -> tuple[Sequence[UUID], str | None]:
    alike: list[UUID] = []
    for _ in range(MOST_LOOKED_AT // MOST_AT_ONCE):
        page = await app.store.dead_letters(replace(wanted, limit=MOST_AT_ONCE))
        for letter in page:
            if generalize_error(letter.error) == error:
                alike.append(letter.job.id)
            if len(alike) == most:
                return alike, str(letter.job.id)
        if len(page) < MOST_AT_ONCE:
            return alike, None
        wanted = replace(wanted, before=page[-1].job.id)
    return alike, str(wanted.before)


async def each(app: Postino, ids: Sequence[UUID], caller: Caller, deed: Deed) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    for job_id in ids:
        try:
            await get_editable_dead_letter(app, job_id, caller)
            results.append({"id": str(job_id), "done": True, **await deed(job_id)})
        except (Conflict, NotFound) as refusal:
            results.append({"id": str(job_id), "done": False, **refused(refusal)})
    return results


def paced(now: datetime, count: int, per_second: float | None) -> list[datetime | None]:
    """When each begins; None: at once."""
    if per_second is None:
        return [None] * count
    return [now + timedelta(seconds=number / per_second) for number in range(count)]


def cause_of(text: str | None) -> DeadLetterCause | None:
    if text is not None and text not in list(DeadLetterCause):
        raise WrongUse(f"cause: there is no {text[:40]!r}.{nearest(text, [*DeadLetterCause])}", "cause")
    return None if text is None else DeadLetterCause(text)
