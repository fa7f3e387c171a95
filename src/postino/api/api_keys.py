"""`/v1/api-keys`: programs' ways in. A key is shown once, in the answer that makes it."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import Field

from postino.api.caller import caller_of
from postino.api.models import MOST_REASON, Strict, Texts
from postino.api.parsing import instant
from postino.api.query import cursor_of, limit_of, query_of
from postino.api.views.users import render_api_key
from postino.auth.validation import parse_role
from postino.engine.actions import make_audit_context
from postino.values.auth import ApiKey
from postino.values.post import StoredAccount
from postino.wiring import Postino

NEVER_KEPT = {"Cache-Control": "no-store"}


class KeyBody(Strict):
    """`POST /v1/api-keys`."""

    name: str
    role: str
    brands: Texts | None = None
    expires_at: str | None = None
    timezone: str | None = None
    reason: Annotated[str, Field(max_length=MOST_REASON)] = ""


def routes(app: Postino) -> APIRouter:
    router = APIRouter(prefix="/v1/api-keys", tags=["people"])

    @router.post("", status_code=201)
    async def add_api_key(request: Request, body: KeyBody) -> JSONResponse:
        """A new one: 201, with `key`, which nobody can show again; `notes` tell of brands that no account has."""
        made, text = await app.api_keys.add(
            body.name,
            parse_role(body.role),
            brands=body.brands,
            expires_at=instant(body.expires_at, body.timezone, "expires_at", []),
            act=make_audit_context(caller_of(request).name, body.reason),
        )
        notes = notes_on(made, await app.store.accounts())
        return JSONResponse(render_api_key(made) | {"key": text, "notes": notes}, 201, NEVER_KEPT)

    @router.get("")
    async def list_api_keys(request: Request) -> JSONResponse:
        """The oldest first; of each its beginning, and nothing more."""
        query = query_of(request, "limit", "cursor")
        limit = limit_of(query)
        found = await app.store.api_keys(cursor_of(query), limit + 1)
        cursor = str(found[limit - 1].id) if len(found) > limit else None
        return JSONResponse({"data": [render_api_key(key) for key in found[:limit]], "next_cursor": cursor})

    @router.delete("/{key_id}")
    async def remove_api_key(request: Request, key_id: UUID) -> JSONResponse:
        """From the next request on it lets nobody in; `reason` goes into the audit trail."""
        reason = query_of(request, "reason").get("reason", "")
        return JSONResponse(
            render_api_key(await app.store.remove_api_key(key_id, make_audit_context(caller_of(request).name, reason)))
        )

    return router


def notes_on(key: ApiKey, accounts: Sequence[StoredAccount]) -> list[str]:
    """Which of its brands have no account: until they have, the key sees nothing of them."""
    missing = sorted((key.brands or frozenset()) - {account.brand for account in accounts})
    return [f"No account has the brand {brand} yet: until one has, this key sees nothing of it." for brand in missing]
