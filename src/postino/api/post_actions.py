"""Actions on one post: edit, publish now, cancel, replay, resolve. Each is written to the audit trail."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any
from uuid import UUID

from fastapi.responses import JSONResponse

from postino.api.context import Context, RequestContext
from postino.api.models import ContentBody, PostId, Reason, ReasonBody, ReplayBody, ResolveBody
from postino.api.parsing import parse_content, parse_timing, parse_verdict
from postino.api.routes import Routes
from postino.api.views.posts import render_current_post
from postino.api.visibility import get_editable_post, load_visible_content
from postino.client.types.posts import EditedPostView, PostView
from postino.client.types.schema import Doc
from postino.errors import Conflict, WrongUse
from postino.publishing.blackouts import InBlackout
from postino.publishing.post_request import UNSET
from postino.values.auth import Role

routes = Routes("posts")
AT_AND_CONTENT = "at: change either the content or the time of a post in one request. Nothing was changed."
NO_CHANGE = (
    "Give what to change: `at`, or `text`, `title`, `hashtags`, `media`, `thread`, `overrides`, `publish_until`."
)


class EditBody(ContentBody):
    """The fields to change: either `at` or fields of the content. Other fields keep their values."""

    reason: Annotated[Reason, Doc("The reason, for the audit trail.")] = ""


class PublishNowBody(ReasonBody):
    """Options for publishing now."""

    allow_blackout: Annotated[bool, Doc("Publish even during a blackout.")] = False


@routes.add(
    "PATCH",
    "/v1/posts/{post_id}",
    role=Role.EDITOR,
    responses={200: EditedPostView},
    errors={409: "The post is not waiting, or Postino has sent or may have sent a part of it."},
)
async def edit_post(post_id: PostId, body: EditBody, context: Context) -> JSONResponse:
    """Edit post.

    Changes either the content or the time of a waiting post of which Postino has sent nothing.
    """
    app = context.app
    before = await get_editable_post(app, context.caller, post_id)
    fields = body.model_fields_set - {"reason", "timezone"}
    if not fields:
        raise WrongUse(NO_CHANGE)
    if "at" in fields and fields != {"at"}:
        raise WrongUse(AT_AND_CONTENT, "at")
    timing = parse_timing(body)
    if "at" in fields:
        if timing.at is None:
            raise WrongUse("at: give a time, or use `publish-now`.", "at")
        await run_on_post(post_id, app.posts.reschedule(post_id, timing.at, context.act(body.reason)))
    else:
        content = parse_content(body, await load_visible_content(app, context.caller, before))
        until_at = timing.until_at if "publish_until" in fields else UNSET
        await run_on_post(
            post_id, app.posts.edit(post_id, content, context.act(body.reason), publish_until_at=until_at)
        )
    after = await app.posts.get(post_id)
    notes = [*timing.notes, *(await app.posts.describe_blackouts([after]) if "at" in fields else ())]
    return JSONResponse(await render_current_post(app, after) | {"notes": notes})


@routes.add(
    "POST",
    "/v1/posts/{post_id}/publish-now",
    role=Role.EDITOR,
    responses={200: PostView},
    errors={
        409: "The post is not waiting, or a blackout is in force. For a blackout, the error names the next free time."
    },
)
async def publish_post_now(post_id: PostId, context: Context, body: PublishNowBody | None = None) -> JSONResponse:
    """Publish post now.

    Publishes a scheduled post immediately. During a blackout Postino refuses the request unless `allow_blackout` is
    true.
    """
    body = body or PublishNowBody()
    act = context.act(body.reason)
    return await run_and_render(
        context, post_id, lambda: context.app.posts.publish_now(post_id, act, allow_blackout=body.allow_blackout)
    )


@routes.add(
    "POST",
    "/v1/posts/{post_id}/cancel",
    role=Role.EDITOR,
    responses={200: PostView},
    errors={409: "The post has ended, or Postino has sent or may have sent a part of it."},
)
async def cancel_post(post_id: PostId, context: Context, body: ReasonBody | None = None) -> JSONResponse:
    """Cancel post.

    Cancels a post of which Postino has sent nothing, even while a worker prepares the post. You cannot undo this. The
    response is 409 once Postino may have sent a part of the post to the network. If the network refuses that part, the
    post waits again and you can cancel it.
    """
    reason = body.reason if body else ""
    return await run_and_render(
        context, post_id, lambda: context.app.cancel(post_id, reason=reason, actor=context.caller.name)
    )


@routes.add(
    "POST",
    "/v1/posts/{post_id}/replay",
    role=Role.EDITOR,
    responses={200: PostView},
    errors={409: "The post has not failed, or the cause of its failure requires `force`."},
)
async def replay_post(post_id: PostId, context: Context, body: ReplayBody | None = None) -> JSONResponse:
    """Replay post.

    Publishes a failed post again. The post keeps its id, its key and its history.
    """
    body = body or ReplayBody()
    how: dict[str, Any] = {"force": body.force, "reason": body.reason, "actor": context.caller.name}
    return await run_and_render(context, post_id, lambda: context.app.replay(post_id, **how))


@routes.add(
    "POST",
    "/v1/posts/{post_id}/resolve",
    role=Role.EDITOR,
    responses={200: PostView},
    errors={409: "The post is not uncertain."},
)
async def resolve_post(post_id: PostId, body: ResolveBody, context: Context) -> JSONResponse:
    """Resolve post.

    Records what a person decides about an uncertain post: the post is live, send it again, or give up.
    """
    how = {"reason": body.reason, "actor": context.caller.name}
    return await run_and_render(context, post_id, lambda: context.app.resolve(post_id, parse_verdict(body), **how))


async def run_and_render(
    context: RequestContext, post_id: UUID, action: Callable[[], Awaitable[object]]
) -> JSONResponse:
    """Run an action on a post that the caller may change, and return the post after it."""
    await get_editable_post(context.app, context.caller, post_id)
    await run_on_post(post_id, action())
    return JSONResponse(await render_current_post(context.app, await context.app.posts.get(post_id)))


async def run_on_post(post_id: UUID, action: Awaitable[object]) -> None:
    """Run an action on a job, and speak of a post in its conflicts."""
    try:
        await action
    except InBlackout:
        raise
    except Conflict as conflict:
        raise Conflict(str(conflict).replace(f"Job {post_id}", f"Post {post_id}")) from conflict
