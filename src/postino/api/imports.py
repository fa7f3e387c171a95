"""`/v1/imports`: create posts from a CSV file. A file is checked first; the file that was checked is then saved."""

import json
from typing import Annotated
from uuid import UUID

from fastapi import Path
from fastapi.responses import JSONResponse

from postino.api.concurrency_limits import LimitReached
from postino.api.context import Context, RequestContext
from postino.api.problems import problem
from postino.api.query import TIMEZONE, flag_parameter, text_parameter
from postino.api.routes import BodyLimit, Link, Routes
from postino.api.views.fields import render_fields
from postino.api.visibility import list_visible_accounts
from postino.client.types.imports import ImportView
from postino.errors import NotFound, WrongUse
from postino.publishing.imports import compute_token
from postino.values.auth import Role
from postino.values.imports import Import, describe_missing_import
from postino.values.time_zones import get_zone

routes = Routes("imports")
CSV_FILE = BodyLimit(max_bytes=20_000_000, is_file=True)
CSV_SCHEMA = {"requestBody": {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "A CSV file."}}
COMMIT = flag_parameter("commit", "Save the posts of a checked file; needs `token`.")
TOKEN = text_parameter("token", "The `token` of the response that checked the file.")
NO_TOKEN = "token is missing: check the file first, without `commit`, and give the `token` of that response."
UNKNOWN_TOKEN = "token: you have checked no file with this token, or too long ago. Check it again, without `commit`."
TOO_MANY_IMPORTS = "{} has {} imports in progress, which is the maximum. Wait until one is done. Nothing was changed."
RETRY_AFTER = 5  # seconds
OTHER_FILE = "token: this is not the file that was checked. Check this one first, without `commit`."


@routes.add(
    "POST",
    "/v1/imports",
    role=Role.EDITOR,
    query=(COMMIT, TOKEN, TIMEZONE),
    body=CSV_FILE,
    extra=CSV_SCHEMA,
    responses={200: ImportView, 201: ImportView},
    links=(Link(200, "/v1/imports/{import_id}", "/id"),),
)
async def import_posts(context: Context) -> JSONResponse:
    """Import posts.

    Checks a CSV file and saves nothing (200). With `commit=true` and the `token` of that response, creates the posts
    (201). You can repeat this request until it succeeds.
    """
    try:
        with context.services.imports.enter(context.request, context.caller):
            return await check_or_save(context)
    except LimitReached as reached:
        detail = TOO_MANY_IMPORTS.format(reached.who, reached.most)
        return problem(429, detail, None, {"Retry-After": str(RETRY_AFTER)})


async def check_or_save(context: RequestContext) -> JSONResponse:
    app, query, caller = context.app, context.query, context.caller
    file = await context.request.body()
    accounts = await list_visible_accounts(app, caller)
    if query[COMMIT]:
        known = await get_checked_import(context, file)
        return JSONResponse(render_import(await context.services.importer.save(known, accounts, caller.name)), 201)
    if query[TOKEN] is not None:
        raise WrongUse("token: it is for saving. Send `commit=true` with it.", "token")
    timezone = None if query[TIMEZONE] is None else get_zone(query[TIMEZONE] or "").key
    checked = await context.services.importer.check(file, timezone, accounts, caller.key, caller.name)
    return JSONResponse(render_import(checked))


@routes.add("GET", "/v1/imports/{import_id}", role=Role.VIEWER, responses={200: ImportView})
async def get_import(
    import_id: Annotated[UUID, Path(description="Id of the import.")], context: Context
) -> JSONResponse:
    """Get import.

    Returns the progress of an import and the problems of its lines.
    """
    found = await context.app.store.import_by_id(import_id)
    if found.caller != context.caller.key and context.caller.brands is not None:
        raise NotFound(describe_missing_import(import_id))
    return JSONResponse(render_import(found))


async def get_checked_import(context: RequestContext, file: bytes) -> Import:
    """Return the import with the token of this request; a file that is sent with it must be the same."""
    token = context.query[TOKEN]
    if token is None:
        raise WrongUse(NO_TOKEN, "token")
    known = await context.app.store.import_by_token(context.caller.key, token)
    if known is None:
        raise WrongUse(UNKNOWN_TOKEN, "token")
    if file and compute_token(file, known.timezone) != known.token:
        raise WrongUse(OTHER_FILE, "token")
    return known


def render_import(found: Import) -> ImportView:
    report = json.loads(found.problems)
    names = (
        "id",
        "state",
        "token",
        "timezone",
        "rows",
        "processed_rows",
        "created",
        "existing",
        "created_at",
        "changed_at",
    )
    posts = found.created + found.existing if report["posts"] is None else report["posts"]
    counts = {
        "posts": posts,
        "invalid_rows": report["invalid_rows"],
        "problems": report["problems"],
        "more_problems": report["more"],
    }
    view: ImportView = render_fields(found, *names) | counts
    return view
