"""What people do to a post by hand. Each leaves a line in the audit trail, with who and why."""

from collections.abc import Awaitable
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from postino.api.caller import Asking
from postino.api.models import ChangeBody, DeedBody, NowBody, ReplayBody, ResolveBody
from postino.api.parsing import content_of, timing_of
from postino.api.views.posts import render_current_post
from postino.api.visibility import get_editable_post
from postino.engine.actions import make_audit_context
from postino.errors import Conflict, WrongUse
from postino.publishing.blackouts import InBlackout
from postino.publishing.contents import load_content
from postino.publishing.post_request import UNSET
from postino.values.outcome import Done, Reject, Retry
from postino.wiring import Postino

BOTH = "at: change either what a post says or when it goes out, one after the other. Nothing was changed."
NOTHING = "Say what to change: `at`, or `text`, `title`, `hashtags`, `media`, `thread`, `overrides`, `publish_until`."


def routes(app: Postino) -> APIRouter:
    router = APIRouter(prefix="/v1/posts/{post_id}", tags=["posts"])

    @router.patch("")
    async def change_post(post_id: UUID, body: ChangeBody, caller: Asking) -> JSONResponse:
        """What it says, or when it goes out; only while nothing of it has been sent."""
        before = await get_editable_post(app, caller, post_id)
        said = body.model_fields_set - {"reason", "timezone"}
        if not said:
            raise WrongUse(NOTHING)
        if "at" in said and said != {"at"}:
            raise WrongUse(BOTH, "at")
        timing = timing_of(body)
        if "at" in said:
            if timing.at is None:
                raise WrongUse("at: give a time, or use publish-now.", "at")
            await of_a_post(
                post_id, app.posts.reschedule(post_id, timing.at, make_audit_context(caller.name, body.reason))
            )
        else:
            content = content_of(body, load_content(before.content))
            until_at = timing.until_at if "publish_until" in said else UNSET
            done = app.posts.edit(
                post_id, content, make_audit_context(caller.name, body.reason), publish_until_at=until_at
            )
            await of_a_post(post_id, done)
        after = await app.posts.get(post_id)
        notes = [*timing.notes, *(await app.posts.describe_blackouts([after]) if "at" in said else ())]
        return JSONResponse(await render_current_post(app, after) | {"notes": notes})

    @router.post("/publish-now")
    async def publish_post_now(post_id: UUID, caller: Asking, body: NowBody | None = None) -> JSONResponse:
        """Instead of later; refused in a blackout, with the next free instant, unless `allow_blackout` is said."""
        await get_editable_post(app, caller, post_id)
        body = body or NowBody()
        why = make_audit_context(caller.name, body.reason)
        return await told(post_id, app.posts.publish_now(post_id, why, allow_blackout=body.allow_blackout))

    @router.post("/cancel")
    async def cancel_post(post_id: UUID, caller: Asking, body: DeedBody | None = None) -> JSONResponse:
        await get_editable_post(app, caller, post_id)
        return await told(post_id, app.cancel(post_id, reason=body.reason if body else "", actor=caller.name))

    @router.post("/replay")
    async def replay_post(post_id: UUID, caller: Asking, body: ReplayBody | None = None) -> JSONResponse:
        """Publishes a failed post again: its key and its history stay."""
        await get_editable_post(app, caller, post_id)
        body = body or ReplayBody()
        return await told(post_id, app.replay(post_id, force=body.force, reason=body.reason, actor=caller.name))

    @router.post("/resolve")
    async def resolve_post(post_id: UUID, body: ResolveBody, caller: Asking) -> JSONResponse:
        """A person's word about an uncertain post: it is live, send it again, or give up."""
        await get_editable_post(app, caller, post_id)
        return await told(post_id, app.resolve(post_id, verdict_of(body), reason=body.reason, actor=caller.name))

    async def told(post_id: UUID, deed: Awaitable[object]) -> JSONResponse:
        await of_a_post(post_id, deed)
        return JSONResponse(await render_current_post(app, await app.posts.get(post_id)))

    return router


async def of_a_post(post_id: UUID, deed: Awaitable[object]) -> None:
    """A refusal in the words of posts: who publishes does not know of jobs."""
    try:
        await deed
    except InBlackout:
        raise
    except Conflict as refusal:
        said = str(refusal).replace(f"Job {post_id}", f"Post {post_id}")
        anew = "say `force` if what was in the way is gone, or publish it anew"
        raise Conflict(said.replace("edit its payload, or force it", anew)) from refusal


def verdict_of(body: ResolveBody) -> Done | Retry | Reject:
    if not body.reason.strip():
        raise WrongUse("reason: say why; it stays with the post.", "reason")
    match body.verdict:
        case "live":
            if not (body.remote_id or "").strip():
                raise WrongUse("remote_id is missing: under which id is the post out?", "remote_id")
            return Done(remote_id=body.remote_id)
        case "send_again":
            return Retry(body.reason)
        case "give_up":
            return Reject(body.reason)
