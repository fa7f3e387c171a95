"""`/v1/drafts`: requests for posts that are not created yet. Everyone who sees a draft's brand sees the draft."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any
from uuid import UUID

from fastapi import Path
from fastapi.responses import JSONResponse, Response

from postino.api.caller import Caller
from postino.api.context import Context, RequestContext
from postino.api.idempotency import IdempotencyKey, make_response, parse_key, respond_once, to_http
from postino.api.models import ContentBody, Name, PostBody, Strict, Texts
from postino.api.parsing import parse_content, parse_timing
from postino.api.posts import CONFLICTS, CREATED_RESPONSES, create_posts
from postino.api.query import CURSOR, LIMIT, PAGE
from postino.api.routes import Link, Routes
from postino.api.views.fields import render_fields
from postino.api.visibility import get_visible_draft, require_accounts
from postino.client.types.drafts import DraftView
from postino.client.types.schema import Doc, Page
from postino.errors import WrongUse
from postino.stores.operations.drafts import measure_draft
from postino.stores.operations.pagination import cut_page
from postino.values.auth import Role
from postino.values.job import new_id
from postino.values.post import Draft, ResponseRecorder, StoredAccount, StoredResponse

routes = Routes("drafts")
DraftId = Annotated[UUID, Path(description="Id of the draft.")]
CHANGED = "Another request changed or scheduled the draft in the meantime."


class DraftBody(ContentBody):
    """A post that may be incomplete."""

    accounts: Annotated[Texts | None, Doc("Ids of the accounts that will publish the draft.")] = None
    brand: Annotated[Name | None, Doc("Brand of the draft. Left out: the brand of its accounts.")] = None


class ScheduleBody(Strict):
    """When to publish, if it differs from the draft."""

    at: Annotated[str | None, Doc("When to publish: ISO 8601 with an offset, or local to `timezone`.")] = None
    timezone: Annotated[str | None, Doc("IANA time zone of times without an offset, such as `Europe/Rome`.")] = None
    allow_duplicate: Annotated[bool, Doc("Publish even if the account already has a post with the same content.")] = (
        False
    )
    allow_blackout: Annotated[bool, Doc("Publish even during a blackout.")] = False


@routes.add(
    "POST",
    "/v1/drafts",
    role=Role.EDITOR,
    responses={201: DraftView},
    errors={409: "The idempotency key was used for another request."},
    links=(Link(201, "/v1/drafts/{draft_id}", "/id"),),
)
async def create_draft(body: DraftBody, context: Context, key: IdempotencyKey = None) -> Response:
    """Create draft.

    Stores a post that is not complete yet. Postino checks the rules of the networks when you schedule the draft.
    """

    async def create(once: ResponseRecorder | None) -> Draft | None:
        draft = await build_draft(context, body, Draft(new_id(), None, context.caller.name, ""))
        return await context.app.store.add_draft(draft, once=once)

    def render(draft: Draft) -> StoredResponse:
        return make_response(201, render_draft(draft))

    return await respond_once(context.app.store, await parse_key(context, key, body), render, create)


@routes.add("GET", "/v1/drafts", role=Role.VIEWER, query=PAGE, responses={200: Page[DraftView]})
async def list_drafts(context: Context) -> JSONResponse:
    """List drafts.

    Returns drafts, newest first. A page with large drafts has fewer entries than `limit`.
    """
    limit = context.query[LIMIT]
    drafts = await context.app.store.drafts(context.caller.brands, context.query[CURSOR], limit + 1)
    page, has_more = cut_page(drafts, limit, measure_draft)
    cursor = str(page[-1].id) if has_more else None

    def render() -> JSONResponse:
        return JSONResponse({"data": [*map(render_draft, page)], "next_cursor": cursor})

    return await context.services.beside_loop.run(render, sum(map(measure_draft, page)))


@routes.add("GET", "/v1/drafts/{draft_id}", role=Role.VIEWER, responses={200: DraftView})
async def get_draft(draft_id: DraftId, context: Context) -> JSONResponse:
    """Get draft.

    Returns one draft. A draft no longer exists after you schedule it.
    """
    return JSONResponse(render_draft(await get_visible_draft(context.app, context.caller, draft_id)))


@routes.add("PATCH", "/v1/drafts/{draft_id}", role=Role.EDITOR, responses={200: DraftView}, errors={409: CHANGED})
async def edit_draft(draft_id: DraftId, body: DraftBody, context: Context) -> JSONResponse:
    """Edit draft.

    Changes the given fields of a draft. Null removes a field.
    """
    before = await get_visible_draft(context.app, context.caller, draft_id)
    fields = json.loads(before.body) | dump_changes(body)
    if "brand" not in fields and not fields.get("accounts"):
        fields["brand"] = before.brand
    draft = await build_draft(context, DraftBody.model_validate(fields), before)
    return JSONResponse(render_draft(await context.app.store.change_draft(draft)))


@routes.add("DELETE", "/v1/drafts/{draft_id}", role=Role.EDITOR, responses={200: DraftView}, errors={409: CHANGED})
async def delete_draft(draft_id: DraftId, context: Context) -> JSONResponse:
    """Delete draft.

    Deletes a draft and returns it.
    """
    draft = await get_visible_draft(context.app, context.caller, draft_id)
    return JSONResponse(render_draft(await context.app.store.remove_draft(draft)))


@routes.add(
    "POST",
    "/v1/drafts/{draft_id}/schedule",
    role=Role.EDITOR,
    responses=CREATED_RESPONSES,
    errors={409: f"{CONFLICTS} Also if another request changed or scheduled the draft in the meantime."},
)
async def schedule_draft(
    draft_id: DraftId, context: Context, body: ScheduleBody | None = None, key: IdempotencyKey = None
) -> Response:
    """Schedule draft.

    Creates the posts of a draft as `POST /v1/posts` does, and deletes the draft.
    """
    app, caller = context.app, context.caller
    parsed_key = await parse_key(context, key, body)
    if parsed_key is not None and (stored := await app.store.stored_response(parsed_key)) is not None:
        return to_http(stored)
    draft = await get_visible_draft(app, caller, draft_id)
    return await create_posts(context, to_post_body(draft, body), parsed_key, draft)


async def build_draft(context: RequestContext, body: DraftBody, before: Draft) -> Draft:
    """Return a draft with these fields. What is given must be valid."""
    context.app.post_validator.check_networks(parse_content(body))
    parse_timing(body)
    accounts = await require_accounts(context.app, context.caller, body.accounts or [])
    fields = {name: value for name, value in dump_changes(body).items() if value is not None}
    brand = choose_draft_brand(context.caller, body.brand, accounts)
    return replace(before, brand=brand, body=json.dumps(fields, ensure_ascii=False))


def choose_draft_brand(caller: Caller, brand: str | None, accounts: Sequence[StoredAccount]) -> str | None:
    """Return the given brand, else that of the accounts, else the only one of the caller."""
    if brand is not None and not caller.can_see(brand):
        raise WrongUse(f"brand: you have no access to a brand {brand!r}.", "brand")
    chosen = brand if brand is not None or not accounts else accounts[0].brand
    if chosen is None and not accounts and caller.brands is not None:
        if len(caller.brands) != 1:
            raise WrongUse("brand is missing: choose one of your brands, or name accounts.", "brand")
        [chosen] = caller.brands
    for number, account in enumerate(accounts):
        if account.brand != chosen:
            message = f"{account.id} has {account.brand or 'no brand'}, and the draft has {chosen or 'no brand'}."
            raise WrongUse(f"accounts[{number}]: {message}", "accounts")
    return chosen


def to_post_body(draft: Draft, body: ScheduleBody | None) -> PostBody:
    fields = {name: value for name, value in json.loads(draft.body).items() if name != "brand"}
    changes = {} if body is None else body.model_dump(exclude_unset=True)
    return PostBody.model_validate({"accounts": []} | fields | changes)


def dump_changes(body: DraftBody) -> dict[str, Any]:
    return body.model_dump(mode="json", exclude_unset=True)


def render_draft(draft: Draft) -> DraftView:
    fields: dict[str, Any] = json.loads(draft.body)
    about = render_fields(draft, "id", "author", "version", "created_at", "changed_at")
    view: DraftView = about | fields | {"brand": draft.brand}
    return view
