"""`/v1/posts` and `/v1/contents`: schedule, publish now, preview, validate, and look at what became of it."""

from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from postino.api.caller import Asking, Caller
from postino.api.idempotency import CallersKey, answer_of, answered, asked_of
from postino.api.models import PostBody, ValidateBody
from postino.api.parsing import Timing, instant, timing_of, wish_of
from postino.api.problems import nearest
from postino.api.query import cursor_at, cursor_of, limit_of, place_of, query_of
from postino.api.validation import judged
from postino.api.views.posts import PostViews, describe_existing, render_created_posts, render_preview
from postino.api.visibility import get_visible_post, list_visible_accounts, require_accounts
from postino.errors import WrongUse
from postino.publishing.contents import normalize_search_text
from postino.rules.post_status import STATUS, Flag
from postino.values.job import State
from postino.values.post import (
    Draft,
    IdempotentRequest,
    PageCursor,
    PostFilter,
    ResponseRecorder,
    SavedPost,
    StoredResponse,
)
from postino.wiring import Postino

STATES = {status.value: state for state, status in STATUS.items()}
FILTERS = ("status", "network", "account", "brand", "from", "to", "timezone", "text", "flags")
MOST_WORDS = 200


def routes(app: Postino) -> APIRouter:
    router = APIRouter(tags=["posts"])

    @router.post("/v1/posts", status_code=201)
    async def create_post(body: PostBody, request: Request, caller: Asking, key: CallersKey = None) -> Response:
        """Publishes now, or at a time: 202 and 201. A plan that is known brings its posts: 200, as does a preview."""
        if body.preview:
            return await previewed(app, body, caller)
        asked = asked_of(request, caller, key, body)
        return await created(app, body, caller, asked)

    @router.post("/v1/posts/validate")
    async def validate_post(body: ValidateBody, caller: Asking) -> JSONResponse:
        """All that speaks against it, account by account; nothing is made."""
        return JSONResponse(await judged(app, body, await list_visible_accounts(app, caller)))

    @router.get("/v1/posts")
    async def list_posts(request: Request, caller: Asking) -> JSONResponse:
        """The newest first; with `from` or `to` by the time they are scheduled for, the latest first."""
        query = query_of(request, *FILTERS, "limit", "cursor")
        check_network(app, query.get("network"))
        wanted = filter_of(query, caller)
        posts, place = await (await PostViews.load(app)).load_page(wanted, flags_of(query.get("flags")))
        return JSONResponse({"data": posts, "next_cursor": None if place is None else cursor(wanted, place)})

    @router.get("/v1/posts/{post_id}")
    async def show_post(post_id: UUID, caller: Asking) -> JSONResponse:
        """A post with its history: tries, steps, intents, receipts; its `cause` if it failed, who `cancelled` it."""
        views = await PostViews.load(app)
        return JSONResponse(await views.load_details(await get_visible_post(app, caller, post_id)))

    @router.get("/v1/contents/{content_id}")
    async def show_content(content_id: UUID, caller: Asking) -> JSONResponse:
        """What was said, and how it stands on all its accounts together."""
        return JSONResponse(await (await PostViews.load(app)).load_content(content_id, caller.brands))

    return router


async def previewed(app: Postino, body: PostBody, caller: Caller) -> JSONResponse:
    timing = timing_of(body)
    wish = wish_of(body, timing)
    await require_accounts(app, caller, body.accounts)
    previews = await app.post_validator.preview(wish)
    notes = [*timing.notes, *await app.posts.describe_objections(wish, previews)]
    return JSONResponse({"preview": True, "posts": [*map(render_preview, previews)], "notes": notes})


async def created(
    app: Postino, body: PostBody, caller: Caller, asked: IdempotentRequest | None, draft: Draft | None = None
) -> Response:
    """Nothing of it is looked at where the very same was answered before."""
    views = await PostViews.load(app)

    async def make(once: ResponseRecorder | None) -> Sequence[SavedPost]:
        timing = timing_of(body)
        wish = wish_of(body, timing)
        accounts = await require_accounts(app, caller, body.accounts)
        written = await app.posts.schedule(wish, once=once, draft=draft, accounts=accounts)
        await app.post_validator.turns.wait()  # many are written together, and then all are to be told of
        return written

    def told(written: Sequence[SavedPost]) -> StoredResponse:
        timing = timing_of(body)
        posts = [one.post for one in written]
        notes = [*timing.notes, *describe_existing(written), *views.list_notes(posts)]
        return answer_of(
            status_of(timing, written), render_created_posts([views.render(post) for post in posts], notes)
        )

    return await answered(app.read_batcher, asked, told, make)


def status_of(timing: Timing, written: Sequence[SavedPost]) -> int:
    if not any(one.created for one in written):
        return 200
    return 202 if timing.at is None else 201


def filter_of(query: dict[str, str], caller: Caller) -> PostFilter:
    notes: list[str] = []

    def at(field: str) -> datetime | None:
        return instant(query.get(field), query.get("timezone"), field, notes)

    from_at, to_at = at("from"), at("to")
    if from_at is not None and to_at is not None and to_at <= from_at:
        raise WrongUse(f"to: {query['to']!r} is not after `from`.", "to")
    by_time = from_at is not None or to_at is not None
    place = place_of(query) if by_time else None
    return PostFilter(
        states=states_of(query.get("status")),
        network=query.get("network"),
        account=query.get("account"),
        brand=query.get("brand"),
        brands=caller.brands,
        from_at=from_at,
        to_at=to_at,
        words=words_of(query.get("text")),
        before=place.id if place is not None else None if by_time else cursor_of(query),
        before_at=None if place is None else place.at,
        limit=limit_of(query),
    )


def check_network(app: Postino, name: str | None) -> None:
    known = sorted(app.networks.titles)
    if name is not None and name not in known:
        raise WrongUse(f"network: there is no network {name[:100]!r}.{nearest(name, known)}", "network")


def cursor(wanted: PostFilter, place: PageCursor) -> str:
    return cursor_at(place) if wanted.by_time else str(place.id)


def words_of(text: str | None) -> str | None:
    if text is None:
        return None
    if not 0 < len(text.strip()) <= MOST_WORDS:
        raise WrongUse(f"text: give 1 to {MOST_WORDS} characters to look for, not {len(text.strip())}.", "text")
    return normalize_search_text(text.strip())


def states_of(text: str | None) -> tuple[State, ...]:
    """`status=failed,uncertain`."""
    return tuple(STATES[name] for name in named(text, "status", STATES.__contains__, [*STATES]))


def flags_of(text: str | None) -> frozenset[Flag]:
    return frozenset(map(Flag, named(text, "flags", set(Flag).__contains__, [*Flag])))


def named(text: str | None, field: str, knows: Callable[[str], bool], known: Sequence[str]) -> list[str]:
    names = [] if text is None else text.split(",")
    for name in names:
        if not knows(name):
            raise WrongUse(f"{field}: there is no {name[:40]!r}.{nearest(name, known)}", field)
    return [*dict.fromkeys(names)]
