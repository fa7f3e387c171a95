"""`/v1/posts` and `/v1/contents`: create, preview, validate, list and show posts."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path
from fastapi.responses import JSONResponse, Response

from postino.api.caller import Caller
from postino.api.context import Context, RequestContext
from postino.api.idempotency import IdempotencyKey, make_response, parse_key, respond_once
from postino.api.models import PostBody, PostId, Texts
from postino.api.parsing import Timing, parse_post_request, parse_time, parse_timing
from postino.api.post_validation import validate
from postino.api.query import (
    ACCOUNT,
    BRAND,
    EARLIER,
    LIMIT,
    NETWORK,
    TIMEZONE,
    QueryValues,
    choices_parameter,
    parse_id,
    parse_place,
    text_parameter,
    to_cursor,
)
from postino.api.routes import Link, Routes
from postino.api.views.posts import PostViews, describe_existing, render_created_posts, render_preview
from postino.api.visibility import get_visible_post, list_visible_accounts, require_accounts
from postino.client.types.posts import (
    ContentView,
    CreatedPostsView,
    CreatedPostView,
    PostDetailsView,
    PostView,
    PreviewResultView,
    ValidationResultView,
)
from postino.client.types.schema import Doc, Page
from postino.errors import WrongUse
from postino.publishing.contents import normalize_search_text
from postino.rules.post_status import STATUS, Flag
from postino.values.auth import Role
from postino.values.post import (
    Draft,
    IdempotentRequest,
    PageCursor,
    PostFilter,
    ResponseRecorder,
    SavedPost,
    StoredResponse,
)
from postino.values.suggestions import suggest_name
from postino.wiring import Postino

routes = Routes("posts")
STATES = {status.value: state for state, status in STATUS.items()}
MAX_SEARCH = 200
CREATED = CreatedPostsView | CreatedPostView
CREATED_RESPONSES = {200: CREATED, 201: CREATED, 202: CREATED}
CONFLICTS = (
    "The same content still waits or was just published, the idempotency key was used for another request, or a"
    " blackout is in force."
)
STATUS_FILTER = choices_parameter("status", "Only posts with one of these statuses, separated by commas.", [*STATES])
FLAGS = choices_parameter("flags", "Only posts with one of these flags, separated by commas.", [*Flag])
FROM = text_parameter("from", "Only posts scheduled at or after this time.")
TO = text_parameter("to", "Only posts scheduled before this time.")
TEXT = text_parameter(
    "text", "Only posts whose title, text, thread, hashtags or overrides contain this text; case is ignored."
)
CURSOR = text_parameter("cursor", "The `next_cursor` of the previous page. Leave it out to get the first page.")
FILTERS = (STATUS_FILTER, NETWORK, ACCOUNT, BRAND, FROM, TO, TIMEZONE, TEXT, FLAGS, LIMIT, CURSOR)


class ValidateBody(PostBody):
    """A post to check. The request accepts an invalid post and lists its problems."""

    accounts: Annotated[Texts, Doc("Ids of the accounts that would publish the post.")]


@routes.add(
    "POST",
    "/v1/posts",
    role=Role.EDITOR,
    responses=CREATED_RESPONSES | {200: CREATED | PreviewResultView},
    errors={409: CONFLICTS},
    links=(
        Link(201, "/v1/posts/{post_id}", "/posts/0/id"),
        Link(202, "/v1/contents/{content_id}", "/content_id"),
    ),
)
async def create_post(body: PostBody, context: Context, key: IdempotencyKey = None) -> Response:
    """Create post.

    Schedules a post for each account (201), or publishes it now if `at` is left out (202). If all of these posts exist
    already, with the same content and time, returns them unchanged (200). With `preview`, returns the rendered posts
    and creates nothing (200).
    """
    if body.preview:
        return await preview_posts(context, body)
    return await create_posts(context, body, await parse_key(context, key, body))


@routes.add("POST", "/v1/posts/validate", role=Role.VIEWER, responses={200: ValidationResultView})
async def validate_post(body: ValidateBody, context: Context) -> JSONResponse:
    """Validate post.

    Lists all problems that would prevent publishing, for each account. The request creates nothing.
    """
    accounts = await list_visible_accounts(context.app, context.caller)
    return JSONResponse(await validate(context.app, body, accounts))


@routes.add(
    "GET",
    "/v1/posts",
    role=Role.VIEWER,
    query=FILTERS,
    responses={200: Page[PostView]},
    links=(Link(200, "/v1/posts/{post_id}", "/data/0/id"),),
)
async def list_posts(context: Context) -> JSONResponse:
    """List posts.

    Returns posts, newest first. With `from` or `to` the order is by scheduled time, latest first. A page with large
    contents has fewer posts than `limit`.
    """
    query = context.query
    check_network(context.app, query[NETWORK])
    criteria = parse_filter(query, context.caller)
    views = await PostViews.load(context.app)
    posts, place = await views.load_page(criteria, frozenset(map(Flag, query[FLAGS])))
    return JSONResponse({"data": posts, "next_cursor": None if place is None else render_cursor(criteria, place)})


@routes.add("GET", "/v1/posts/{post_id}", role=Role.VIEWER, responses={200: PostDetailsView})
async def get_post(post_id: PostId, context: Context) -> JSONResponse:
    """Get post.

    Returns a post with its attempts, steps, intents and receipts, the cause of its failure and who cancelled it.
    """
    post = await get_visible_post(context.app, context.caller, post_id)
    return JSONResponse(await (await PostViews.load(context.app)).load_details(post))


@routes.add("GET", "/v1/contents/{content_id}", role=Role.VIEWER, responses={200: ContentView})
async def get_content(
    content_id: Annotated[UUID, Path(description="Id of the content.")], context: Context
) -> JSONResponse:
    """Get content.

    Returns a content with its posts on all accounts and their common status.
    """
    return JSONResponse(await (await PostViews.load(context.app)).load_content(content_id, context.caller.brands))


async def preview_posts(context: RequestContext, body: PostBody) -> JSONResponse:
    app, timing = context.app, parse_timing(body)
    request = parse_post_request(body, timing)
    await require_accounts(app, context.caller, body.accounts)
    previews = await app.post_validator.preview(request)
    notes = [*timing.notes, *await app.posts.describe_objections(request, previews)]
    return JSONResponse({"preview": True, "posts": [*map(render_preview, previews)], "notes": notes})


async def create_posts(
    context: RequestContext, body: PostBody, key: IdempotentRequest | None, draft: Draft | None = None
) -> Response:
    """Create the posts of a body, or of a draft. A repeated request with the same key is not even validated."""
    app = context.app
    views = await PostViews.load(app)

    async def create(once: ResponseRecorder | None) -> Sequence[SavedPost]:
        request = parse_post_request(body, parse_timing(body))
        accounts = await require_accounts(app, context.caller, body.accounts)
        written = await app.posts.schedule(request, once=once, draft=draft, accounts=accounts)
        await app.post_validator.turns.wait()  # rendering many responses at once must not block the event loop
        return written

    def render(written: Sequence[SavedPost]) -> StoredResponse:
        timing = parse_timing(body)
        posts = [one.post for one in written]
        notes = [*timing.notes, *describe_existing(written), *views.list_notes(posts)]
        created = render_created_posts([views.render(post) for post in posts], notes)
        return make_response(choose_status(timing, written), created)

    return await respond_once(app.read_batcher, key, render, create)


def choose_status(timing: Timing, written: Sequence[SavedPost]) -> int:
    if not any(one.created for one in written):
        return 200
    return 202 if timing.at is None else 201


def parse_filter(query: QueryValues, caller: Caller) -> PostFilter:
    notes: list[str] = []

    def parse(field: str, text: str | None) -> datetime | None:
        return parse_time(text, query[TIMEZONE], field, notes)

    from_at, to_at = parse("from", query[FROM]), parse("to", query[TO])
    if from_at is not None and to_at is not None and to_at <= from_at:
        raise WrongUse(f"to: {query[TO]!r} is not after `from`.", "to")
    by_time, cursor = from_at is not None or to_at is not None, query[CURSOR]
    place = parse_place(cursor) if by_time else None
    before = None if by_time or cursor is None else parse_id("cursor", cursor, EARLIER)
    return PostFilter(
        states=tuple(STATES[name] for name in query[STATUS_FILTER]),
        network=query[NETWORK],
        account=query[ACCOUNT],
        brand=query[BRAND],
        brands=caller.brands,
        from_at=from_at,
        to_at=to_at,
        words=parse_search(query[TEXT]),
        before=before if place is None else place.id,
        before_at=None if place is None else place.at,
        limit=query[LIMIT],
    )


def check_network(app: Postino, name: str | None) -> None:
    known = sorted(app.networks.titles)
    if name is not None and name not in known:
        raise WrongUse(f"network: there is no network {name[:100]!r}. {suggest_name(name, known)}", "network")


def render_cursor(criteria: PostFilter, place: PageCursor) -> str:
    return to_cursor(place) if criteria.by_time else str(place.id)


def parse_search(text: str | None) -> str | None:
    if text is None:
        return None
    if not 0 < len(text.strip()) <= MAX_SEARCH:
        raise WrongUse(f"text must have 1 to {MAX_SEARCH} characters, not {len(text.strip())}.", "text")
    return normalize_search_text(text.strip())
