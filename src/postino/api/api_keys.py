"""`/v1/api-keys`: API keys for programs. A key is shown once, in the response that creates it."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import Path
from fastapi.responses import JSONResponse

from postino.api.context import Context
from postino.api.models import Reason, Strict, Texts
from postino.api.parsing import parse_time
from postino.api.query import CURSOR, LIMIT, PAGE, REASON
from postino.api.routes import Link, Routes
from postino.api.views.users import render_api_key
from postino.auth.user_checks import parse_role
from postino.client.types.auth import ApiKeyView, CreatedApiKeyView
from postino.client.types.schema import Doc, Page
from postino.values.auth import ApiKey, Role
from postino.values.post import StoredAccount

routes = Routes("API keys")


class ApiKeyBody(Strict):
    """An API key to create."""

    name: Annotated[str, Doc("What the key is for.")]
    role: Annotated[str, Doc("What the key may do: `viewer`, `editor` or `owner`.")]
    brands: Annotated[Texts | None, Doc("Brands that the key has access to. Left out: all brands.")] = None
    job_types: Annotated[
        Texts | None,
        Doc(
            "Types of jobs that the key may queue with `POST /v1/jobs`; `*`: all. Left out: all for an owner, none for"
            " others."
        ),
    ] = None
    expires_at: Annotated[
        str | None, Doc("When the key expires: ISO 8601 with an offset, or local to `timezone`. Left out: never.")
    ] = None
    timezone: Annotated[str | None, Doc("IANA time zone of times without an offset, such as `Europe/Rome`.")] = None
    reason: Annotated[Reason, Doc("The reason, for the audit trail.")] = ""


@routes.add(
    "POST",
    "/v1/api-keys",
    role=Role.OWNER,
    all_brands=True,
    responses={201: CreatedApiKeyView},
    errors={409: "A key with this name exists."},
    links=(Link(201, "/v1/api-keys/{key_id}", "/id"),),
)
async def create_api_key(body: ApiKeyBody, context: Context) -> JSONResponse:
    """Create API key.

    Returns the new key in `key`. No other response contains the key, because
    Postino stores only a digest. `notes` names
    brands that no account has.
    """
    key, text = await context.app.api_keys.add(
        body.name,
        parse_role(body.role),
        brands=body.brands,
        job_types=body.job_types,
        expires_at=parse_time(body.expires_at, body.timezone, "expires_at", []),
        act=context.act(body.reason),
    )
    notes = describe_unused_brands(key, await context.app.store.accounts())
    return JSONResponse(render_api_key(key) | {"key": text, "notes": notes}, 201)


@routes.add("GET", "/v1/api-keys", role=Role.OWNER, all_brands=True, query=PAGE, responses={200: Page[ApiKeyView]})
async def list_api_keys(context: Context) -> JSONResponse:
    """List API keys.

    Returns all API keys, oldest first. Each entry contains only the first characters of the key.
    """
    limit = context.query[LIMIT]
    keys = await context.app.store.api_keys(context.query[CURSOR], limit + 1)
    cursor = str(keys[limit - 1].id) if len(keys) > limit else None
    return JSONResponse({"data": [render_api_key(key) for key in keys[:limit]], "next_cursor": cursor})


@routes.add(
    "DELETE",
    "/v1/api-keys/{key_id}",
    role=Role.OWNER,
    all_brands=True,
    query=(REASON,),
    responses={200: ApiKeyView},
)
async def revoke_api_key(
    key_id: Annotated[UUID, Path(description="Id of the API key.")], context: Context
) -> JSONResponse:
    """Revoke API key.

    Revokes an API key immediately: the next request with it gets 401.
    """
    key = await context.app.store.remove_api_key(key_id, context.act(context.query[REASON]))
    return JSONResponse(render_api_key(key))


def describe_unused_brands(key: ApiKey, accounts: Sequence[StoredAccount]) -> list[str]:
    missing = sorted((key.brands or frozenset()) - {account.brand for account in accounts})
    return [f"No account has the brand {brand} yet. Until one has, this key sees nothing of it." for brand in missing]
