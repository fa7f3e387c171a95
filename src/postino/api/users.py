"""`/v1/users` and `/v1/audit`: who may come in, and what everybody did."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import Field

from postino.api.caller import caller_of
from postino.api.gates import flag_of
from postino.api.models import MOST_REASON, Strict, Texts
from postino.api.query import cursor_of, limit_of, query_of
from postino.api.views.fields import render_fields
from postino.api.views.users import render_user
from postino.auth.validation import parse_role
from postino.engine.actions import make_audit_context
from postino.errors import WrongUse
from postino.stores.audit import FIRST_HASH, compute_entry_hash
from postino.wiring import Postino

AT_A_TIME = 1000
MOST_DIGITS = 18


class UserBody(Strict):
    """`POST /v1/users`. Without a password only a sign-in link lets them in."""

    name: str
    role: str
    password: str | None = None
    brands: Texts | None = None
    reason: Annotated[str, Field(max_length=MOST_REASON)] = ""


class UserChange(Strict):
    """`PATCH /v1/users/{id}`: what is left out stays as it is; `brands` null means all of them."""

    role: str | None = None
    password: str | None = None
    brands: Texts | None = None
    reason: Annotated[str, Field(max_length=MOST_REASON)] = ""


def routes(app: Postino) -> APIRouter:
    router = APIRouter(tags=["people"])

    @router.post("/v1/users", status_code=201)
    async def add_user(request: Request, body: UserBody) -> JSONResponse:
        """A person who may come in: 201."""
        by = make_audit_context(caller_of(request).name, body.reason)
        made = await app.users.add(body.name, parse_role(body.role), password=body.password, brands=body.brands, act=by)
        return JSONResponse(render_user(made), 201)

    @router.get("/v1/users")
    async def list_users(request: Request) -> JSONResponse:
        """The oldest first."""
        query = query_of(request, "limit", "cursor")
        limit = limit_of(query)
        found = await app.store.users(cursor_of(query), limit + 1)
        cursor = str(found[limit - 1].id) if len(found) > limit else None
        return JSONResponse({"data": [render_user(user) for user in found[:limit]], "next_cursor": cursor})

    @router.get("/v1/users/{user_id}")
    async def one_user(user_id: UUID) -> JSONResponse:
        return JSONResponse(render_user(await app.store.user(user_id)))

    @router.patch("/v1/users/{user_id}")
    async def change_user(request: Request, user_id: UUID, body: UserChange) -> JSONResponse:
        """Their role, brands or password; with another password they are signed out everywhere."""
        changes = body.model_dump(exclude_unset=True, exclude={"reason"})
        if not changes:
            raise WrongUse("Say what to change: `role`, `brands` or `password`.")
        if "role" in changes:
            changes["role"] = parse_role(changes["role"] or "")
        changed = await app.users.change(user_id, changes, make_audit_context(caller_of(request).name, body.reason))
        return JSONResponse(render_user(changed))

    @router.delete("/v1/users/{user_id}")
    async def remove_user(request: Request, user_id: UUID) -> JSONResponse:
        """They are signed out at once; `reason` goes into the audit trail."""
        reason = query_of(request, "reason").get("reason", "")
        return JSONResponse(
            render_user(await app.store.remove_user(user_id, make_audit_context(caller_of(request).name, reason)))
        )

    @router.get("/v1/audit")
    async def audit(request: Request) -> JSONResponse:
        """What everybody did, the newest first; with `verify=true` also whether any line was tampered with."""
        query = query_of(request, "limit", "cursor", "verify")
        limit, before, verify = limit_of(query), seq_of(query), flag_of(query, "verify")
        found = await app.store.audit_page(before, limit + 1)
        cursor = str(found[limit - 1].seq) if len(found) > limit else None
        told = {"data": [render_fields(line) for line in found[:limit]], "next_cursor": cursor}
        return JSONResponse(told | (await verified(app) if verify else {}))

    return router


def seq_of(query: dict[str, str]) -> int | None:
    text = query.get("cursor")
    if text is not None and not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        told = f"cursor must be a `next_cursor` of an earlier answer, not {text[:40]!r}."
        raise WrongUse(told, "cursor")
    return None if text is None else int(text)


async def verified(app: Postino) -> dict[str, object]:
    """The whole chain from its first line, a thousand lines at a time; where it breaks first, if it does."""
    previous, seq = FIRST_HASH, 0
    while lines := await app.store.audit_after(seq, AT_A_TIME):
        for line in lines:
            if line.seq != seq + 1 or line.hash != compute_entry_hash(previous, line):
                return {"verified": False, "broken_at": line.seq}
            previous, seq = line.hash, line.seq
    return {"verified": True, "broken_at": None}
