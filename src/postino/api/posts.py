"""`/v1/posts` and `/v1/contents`: schedule, publish now, preview, and look at what became of it."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Request
from fastapi.responses import JSONResponse

from postino.api.models import PostBody
from postino.api.problems import nearest
from postino.api.reading import cursor_of, limit_of, query_of
from postino.api.wishes import timing_of, wish_of
from postino.errors import WrongUse
from postino.job import State
from postino.post import PostFilter
from postino.publishing import shapes
from postino.publishing.posts import Wish, Written
from postino.publishing.telling import known_already, together
from postino.rules.standing import STATUS
from postino.wiring import Postino

MOST_KEY = 255
STATES = {status.value: state for state, status in STATUS.items()}
CallersKey = Annotated[str | None, Header(alias="Idempotency-Key")]


def routes(app: Postino) -> APIRouter:
    router = APIRouter(tags=["posts"])

    @router.post("/v1/posts", status_code=201)
    async def create(body: PostBody, key: CallersKey = None) -> JSONResponse:
        """Publishes now, or at a time: 202 and 201. A known key brings the known posts: 200, as does a preview."""
        timing = timing_of(body)
        wish = wish_of(body, key_from(key), timing)
        await check_accounts(app, wish)
        if body.preview:
            previews = [shapes.of_preview(preview) for preview in await app.posts.preview(wish)]
            return JSONResponse({"preview": True, "posts": previews, "notes": [*timing.notes]})
        written = await app.posts.schedule(wish)
        posts = [one.post for one in written]
        notes = [*timing.notes, *known_already(written), *await app.posts.notes(posts)]
        return JSONResponse(together(await app.teller.posts(posts), notes), status_of(wish, written))

    @router.get("/v1/posts")
    async def latest(request: Request) -> JSONResponse:
        """The newest first: `status`, `network`, `account`, `limit`, `cursor`."""
        query = query_of(request, "status", "network", "account", "limit", "cursor")
        limit = limit_of(query)
        wanted = PostFilter(
            states=states_of(query.get("status")),
            network=query.get("network"),
            account=query.get("account"),
            before=cursor_of(query),
            limit=limit + 1,  # one more tells whether there are more
        )
        found = await app.posts.list(wanted)
        cursor = str(found[limit - 1].job.id) if len(found) > limit else None
        return JSONResponse({"data": await app.teller.posts(found[:limit]), "next_cursor": cursor})

    @router.get("/v1/posts/{post_id}")
    async def one(post_id: UUID) -> JSONResponse:
        """A post with its history: tries, steps, intents and receipts."""
        return JSONResponse(await app.teller.details(await app.posts.get(post_id)))

    @router.get("/v1/contents/{content_id}")
    async def content(content_id: UUID) -> JSONResponse:
        """What was said, and how it stands on all its accounts together."""
        return JSONResponse(await app.teller.content(content_id))

    return router


def key_from(text: str | None) -> str | None:
    if text is not None and not 0 < len(text) <= MOST_KEY:
        told = f"Idempotency-Key: a key has 1 to {MOST_KEY} characters, not {len(text)}."
        raise WrongUse(told, "Idempotency-Key")
    return text


async def check_accounts(app: Postino, wish: Wish) -> None:
    known = [account.id for account in await app.store.accounts()]
    for number, name in enumerate(wish.accounts):
        if name not in known:
            raise WrongUse(f"accounts[{number}]: there is no account {name!r}.{nearest(name, known)}", "accounts")


def status_of(wish: Wish, written: Sequence[Written]) -> int:
    if not any(one.created for one in written):
        return 200
    return 202 if wish.at is None else 201


def states_of(text: str | None) -> tuple[State, ...]:
    """`status=failed,uncertain`."""
    names = [] if text is None else text.split(",")
    for name in names:
        if name not in STATES:
            raise WrongUse(f"status: there is no {name!r}.{nearest(name, [*STATES])}", "status")
    return tuple(STATES[name] for name in names)
