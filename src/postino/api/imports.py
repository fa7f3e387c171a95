"""`/v1/imports`: posts from a CSV file. It is checked first; what was checked is then saved."""

import json
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse

from postino.api.caller import Caller, caller_of
from postino.api.query import query_of, truth_of
from postino.api.views.fields import to_json
from postino.api.visibility import list_visible_accounts
from postino.errors import NotFound, WrongUse
from postino.publishing.imports import Importer, compute_token
from postino.values.imports import Import, describe_missing_import
from postino.values.time_zones import get_zone
from postino.wiring import Postino

Asking = Annotated[Caller, Depends(caller_of)]
FILE = {"requestBody": {"content": {"text/csv": {"schema": {"type": "string"}}}}}
NO_TOKEN = "token is missing: check the file first, without `commit`, and give the `token` of that answer."
NOT_CHECKED = "token: no file was checked under it with your key, or long ago. Check it again, without `commit`."
ANOTHER = "token: this is not the file that was checked under it. Check this one first, without `commit`."


def routes(app: Postino) -> APIRouter:
    router = APIRouter(prefix="/v1/imports", tags=["imports"])
    importer = Importer(app.store, app.post_validator)

    @router.post("", openapi_extra=FILE, status_code=201)
    async def import_posts(request: Request, caller: Asking) -> JSONResponse:
        """Checks a file and saves nothing: 200. With `commit` and the `token` of that answer it is saved: 201."""
        query = query_of(request, "commit", "token", "timezone")
        file = await request.body()
        accounts = await list_visible_accounts(app, caller)
        if truth_of(query, "commit"):
            known = await checked(app, caller, query, file)
            return JSONResponse(of_import(await importer.save(known, accounts, caller.name)), 201)
        if "token" in query:
            raise WrongUse("token: it is for saving; say `commit=true` with it.", "token")
        timezone = get_zone(query["timezone"]).key if "timezone" in query else None
        found = await importer.check(file, timezone, accounts, caller.key, caller.name)
        return JSONResponse(of_import(found))

    @router.get("/{import_id}")
    async def show_import(import_id: UUID, caller: Asking) -> JSONResponse:
        """How far it has come, and what is wrong with which line."""
        found = await app.store.import_by_id(import_id)
        if found.caller != caller.key and caller.brands is not None:
            raise NotFound(describe_missing_import(import_id))
        return JSONResponse(of_import(found))

    return router


async def checked(app: Postino, caller: Caller, query: dict[str, str], file: bytes) -> Import:
    """What was checked under this token; a file that comes with it has to be the same."""
    if "token" not in query:
        raise WrongUse(NO_TOKEN, "token")
    known = await app.store.import_by_token(caller.key, query["token"])
    if known is None:
        raise WrongUse(NOT_CHECKED, "token")
    if file and compute_token(file, known.timezone) != known.token:
        raise WrongUse(ANOTHER, "token")
    return known


def of_import(found: Import) -> dict[str, Any]:
    told = json.loads(found.faults)
    names = ("id", "state", "token", "timezone", "rows", "looked", "created", "known", "created_at", "changed_at")
    shape = {name: to_json(getattr(found, name)) for name in names}
    posts = found.created + found.known if told["posts"] is None else told["posts"]
    return shape | {"posts": posts, "bad": told["bad"], "faults": told["faults"], "more_faults": told["more"]}
