"""`/v1/drafts`: requests for posts that are not made yet. A draft is seen by whoever sees its brand."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from postino.api.caller import Asking, Caller
from postino.api.idempotency import CallersKey, answer_of, answered, asked_of
from postino.api.models import DraftBody, PostBody, ScheduleBody
from postino.api.parsing import content_of, timing_of
from postino.api.posts import created
from postino.api.query import cursor_of, limit_of, query_of
from postino.api.views.fields import to_json
from postino.api.visibility import get_visible_draft, require_accounts
from postino.errors import WrongUse
from postino.values.job import new_id
from postino.values.post import Draft, ResponseRecorder, StoredAccount, StoredResponse
from postino.wiring import Postino


def routes(app: Postino) -> APIRouter:
    router = APIRouter(prefix="/v1/drafts", tags=["drafts"])

    @router.post("", status_code=201)
    async def create_draft(body: DraftBody, request: Request, caller: Asking, key: CallersKey = None) -> Response:
        """Keeps what is said so far; what a network would say to it, nobody asks yet."""

        async def make(once: ResponseRecorder | None) -> Draft | None:
            draft = await drafted(app, caller, body, Draft(new_id(), None, caller.name, ""))
            return await app.store.add_draft(draft, once=once)

        return await answered(app.store, asked_of(request, caller, key, body), told_of_new, make)

    @router.get("")
    async def list_drafts(request: Request, caller: Asking) -> JSONResponse:
        """The newest first: `limit`, `cursor`."""
        query = query_of(request, "limit", "cursor")
        limit = limit_of(query)
        found = await app.store.drafts(caller.brands, cursor_of(query), limit + 1)
        cursor = str(found[limit - 1].id) if len(found) > limit else None
        return JSONResponse({"data": [*map(of_draft, found[:limit])], "next_cursor": cursor})

    @router.get("/{draft_id}")
    async def show_draft(draft_id: UUID, caller: Asking) -> JSONResponse:
        return JSONResponse(of_draft(await get_visible_draft(app, caller, draft_id)))

    @router.patch("/{draft_id}")
    async def change_draft(draft_id: UUID, body: DraftBody, caller: Asking) -> JSONResponse:
        """What is left out stays as it is, what is null is taken away."""
        before = await get_visible_draft(app, caller, draft_id)
        said = json.loads(before.body) | changes(body)
        if "brand" not in said and not said.get("accounts"):
            said["brand"] = before.brand
        merged = DraftBody.model_validate(said)
        return JSONResponse(of_draft(await app.store.change_draft(await drafted(app, caller, merged, before))))

    @router.delete("/{draft_id}")
    async def remove_draft(draft_id: UUID, caller: Asking) -> JSONResponse:
        draft = await get_visible_draft(app, caller, draft_id)
        return JSONResponse(of_draft(await app.store.remove_draft(draft)))

    @router.post("/{draft_id}/schedule", status_code=201)
    async def schedule_draft(
        draft_id: UUID, request: Request, caller: Asking, body: ScheduleBody | None = None, key: CallersKey = None
    ) -> Response:
        """Makes posts of it, as `POST /v1/posts` does; the draft is gone with that."""
        asked = asked_of(request, caller, key, body)
        if asked is not None and (known := await app.store.stored_response(asked)) is not None:
            return Response(known.body.encode(), known.status, media_type="application/json")
        draft = await get_visible_draft(app, caller, draft_id)
        return await created(app, post_of(draft, body), caller, asked, draft)

    return router


async def drafted(app: Postino, caller: Caller, body: DraftBody, before: Draft) -> Draft:
    """As far as it is said, it has to be right."""
    app.post_validator.check_networks(content_of(body))
    timing_of(body)
    accounts = await require_accounts(app, caller, body.accounts or [])
    said = json.dumps({name: value for name, value in changes(body).items() if value is not None}, ensure_ascii=False)
    return replace(before, brand=brand_of(caller, body.brand, accounts), body=said)


def brand_of(caller: Caller, said: str | None, accounts: Sequence[StoredAccount]) -> str | None:
    """Its own word, else that of its accounts, else the only one its author has."""
    if said is not None and not caller.sees(said):
        raise WrongUse(f"brand: there is no brand {said!r} for you.", "brand")
    brand = said if said is not None or not accounts else accounts[0].brand
    if brand is None and not accounts and caller.brands is not None:
        if len(caller.brands) != 1:
            raise WrongUse("brand is missing: say for which of your brands it is, or name accounts.", "brand")
        [brand] = caller.brands
    for number, account in enumerate(accounts):
        if account.brand != brand:
            told = f"{account.id} is of {account.brand or 'no brand'}, and the draft of {brand or 'no brand'}."
            raise WrongUse(f"accounts[{number}]: {told}", "accounts")
    return brand


def post_of(draft: Draft, body: ScheduleBody | None) -> PostBody:
    said = {name: value for name, value in json.loads(draft.body).items() if name != "brand"}
    otherwise = {} if body is None else body.model_dump(exclude_unset=True)
    return PostBody.model_validate({"accounts": []} | said | otherwise)


def changes(body: DraftBody) -> dict[str, Any]:
    return body.model_dump(mode="json", exclude_unset=True)


def told_of_new(draft: Draft) -> StoredResponse:
    return answer_of(201, of_draft(draft))


def of_draft(draft: Draft) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(draft.body)
    about = {name: to_json(getattr(draft, name)) for name in ("id", "author", "version", "created_at", "changed_at")}
    return about | said | {"brand": draft.brand}
