"""What people do to jobs by hand, one or many. Each leaves a line in the audit trail; one refused stops no other."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import Field

from postino.api.caller import Caller, caller_of
from postino.api.jobs import FORMER, Name
from postino.api.models import MOST_REASON, DeedBody, ReplayBody, ResolveBody, Strict
from postino.api.post_actions import verdict_of
from postino.api.problems import STATUS
from postino.api.views.jobs import render_job
from postino.api.visibility import get_editable_job, select_brands
from postino.engine.checks import parse_queue
from postino.engine.job_spec import encode_payload
from postino.errors import Conflict, NotFound, PostinoError, WrongUse
from postino.stores.records import JobFilter
from postino.values.job import Job, State
from postino.values.outcome import Reject, Retry
from postino.wiring import Postino

MOST_AT_ONCE = 200
EITHER = "ids: give either `ids` or `filter`."
TOO_WIDE = "filter: say which jobs, by `state`, `type`, `channel`, `account`, `brand` or `queue`."
Deed = Callable[[UUID], Awaitable[Job]]
OneState = Annotated[State, Field(strict=False)]


class ChosenBody(Strict):
    """Which jobs, the newest first: at most `limit` of them, those older than `before`."""

    state: Annotated[list[OneState], Field(max_length=len(State))] = Field(default_factory=list)
    type: Name | None = None
    channel: Name | None = None
    account: Name | None = None
    brand: Name | None = None
    queue: str | None = None
    before: Annotated[UUID, Field(strict=False)] | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_AT_ONCE)] = MOST_AT_ONCE


class ReplayJobBody(ReplayBody):
    """With another `payload`, if one is given."""

    payload: Any = None

    def how(self) -> dict[str, Any]:
        edited = encode_payload(self.payload) if "payload" in self.model_fields_set else None
        return {"payload": edited, "force": self.force, "reason": self.reason}


class BulkBody(Strict):
    """`POST /v1/jobs/bulk`: `resolve` takes a `verdict` that is the same for all."""

    action: Literal["cancel", "replay", "resolve"]
    ids: Annotated[list[Annotated[UUID, Field(strict=False)]], Field(min_length=1, max_length=MOST_AT_ONCE)] | None = (
        None
    )
    filter: ChosenBody | None = None
    reason: Annotated[str, Field(max_length=MOST_REASON)] = ""
    force: bool = False
    verdict: Literal["send_again", "give_up"] | None = None


def routes(app: Postino) -> APIRouter:
    router = APIRouter(tags=["jobs"])

    @router.post("/v1/jobs/bulk")
    async def change_jobs(body: BulkBody, request: Request) -> JSONResponse:
        """The same to many, by `ids` or `filter`: what became of each. With a filter, `next_cursor` goes on."""
        caller = caller_of(request)
        ids, cursor = await chosen(app, body, caller)
        deed = deed_of(app, body, caller)

        async def one(job_id: UUID) -> Job:
            await get_editable_job(app, job_id, caller)
            return await deed(job_id)

        return JSONResponse({"data": await each(ids, one), "next_cursor": cursor})

    @router.post("/v1/jobs/{job_id}/cancel")
    async def cancel_job(job_id: UUID, request: Request, body: DeedBody | None = None) -> JSONResponse:
        """Only while nothing has been sent."""
        caller = caller_of(request)
        await get_editable_job(app, job_id, caller)
        reason = body.reason if body else ""
        return JSONResponse(render_job(await app.cancel(job_id, reason=reason, actor=caller.name)))

    @router.post(f"{FORMER}/v1/jobs/{{job_id}}/replay", name="replay_job_as_before")
    @router.post("/v1/jobs/{job_id}/replay")
    async def replay_job(job_id: UUID, request: Request, body: ReplayJobBody | None = None) -> JSONResponse:
        """Runs a failed job again, with another `payload` if one is given: its key and its history stay."""
        caller, body = caller_of(request), body or ReplayJobBody()
        await get_editable_job(app, job_id, caller)
        return JSONResponse(render_job(await app.replay(job_id, **body.how(), actor=caller.name)))

    @router.post("/v1/jobs/{job_id}/resolve")
    async def resolve_job(job_id: UUID, body: ResolveBody, request: Request) -> JSONResponse:
        """A person's word about an uncertain job: it happened, do it again, or give up."""
        caller = caller_of(request)
        await get_editable_job(app, job_id, caller)
        done = await app.resolve(job_id, verdict_of(body), reason=body.reason, actor=caller.name)
        return JSONResponse(render_job(done))

    return router


async def chosen(app: Postino, body: BulkBody, caller: Caller) -> tuple[Sequence[UUID], str | None]:
    if (body.ids is None) is (body.filter is None):
        raise WrongUse(EITHER, "ids")
    if body.ids is not None:
        return list(dict.fromkeys(body.ids)), None
    said = body.filter
    assert said is not None, "there are no ids"
    if not any((said.state, said.type, said.channel, said.account, said.brand, said.queue)):
        raise WrongUse(TOO_WIDE, "filter")
    wanted = JobFilter(
        states=tuple(said.state),
        type=said.type,
        channel=said.channel,
        account=said.account,
        brands=select_brands(caller, said.brand),
        queue=None if said.queue is None else parse_queue(said.queue, "filter.queue"),
        before=said.before,
        limit=said.limit,
    )
    page = await app.store.jobs_page(wanted)
    return [job.id for job in page.jobs], None if page.next is None else str(page.next)


def deed_of(app: Postino, body: BulkBody, caller: Caller) -> Deed:
    said: dict[str, Any] = {"reason": body.reason, "actor": caller.name}
    if body.action != "resolve":
        if body.verdict is not None:
            raise WrongUse("verdict: only with `resolve`.", "verdict")
        if body.action == "cancel":
            return lambda job_id: app.cancel(job_id, **said)
        return lambda job_id: app.replay(job_id, force=body.force, **said)
    if body.verdict is None:
        raise WrongUse("verdict is missing: send_again or give_up. What is live has an id, each its own.", "verdict")
    if not body.reason.strip():
        raise WrongUse("reason: say why; it stays with the jobs.", "reason")
    verdict = Retry(body.reason) if body.verdict == "send_again" else Reject(body.reason)
    return lambda job_id: app.resolve(job_id, verdict, **said)


async def each(ids: Sequence[UUID], deed: Deed) -> list[dict[str, Any]]:
    """Each by itself, whole or not at all; a refusal is its result and stops no other."""
    results: list[dict[str, Any]] = []
    for job_id in ids:
        try:
            results.append({"id": str(job_id), "done": True, "job": render_job(await deed(job_id))})
        except (Conflict, NotFound) as refusal:
            results.append({"id": str(job_id), "done": False, **refused(refusal)})
    return results


def refused(refusal: PostinoError) -> dict[str, Any]:
    status = next(status for kind, status in STATUS.items() if isinstance(refusal, kind))
    return {"status": status, "detail": str(refusal)}
