"""`/v1/blackouts`: recurring windows in which nothing is published."""

from typing import Annotated
from uuid import UUID

from fastapi import Path
from fastapi.responses import JSONResponse
from pydantic import Field

from postino.api.context import Context
from postino.api.models import Strict
from postino.api.query import REASON, flag_parameter
from postino.api.routes import Link, Routes
from postino.api.views.gates import render_blackout, render_blackout_impact
from postino.client.types.gates import BlackoutView, CreatedBlackoutView
from postino.client.types.schema import Doc, Page
from postino.values.auth import Role

routes = Routes("blackouts")
PREVIEW = flag_parameter("preview", "Return the jobs that the blackout would delay, and create nothing.")


class BlackoutBody(Strict):
    """A blackout to create."""

    scope: Annotated[str | None, Doc("What the blackout covers: `all`, `channel`, `brand` or `account`.")] = None
    channel: Annotated[str | None, Doc("The channel, if the scope is `channel`.")] = None
    brand: Annotated[str | None, Doc("The brand, if the scope is `brand`.")] = None
    account: Annotated[str | None, Doc("The account, if the scope is `account`.")] = None
    start: Annotated[str | None, Doc("Local time at which the window starts, such as `22:00`.")] = None
    end: Annotated[str | None, Doc("Local time at which the window ends, on the same or the next day.")] = None
    timezone: Annotated[str | None, Doc("IANA time zone of the times, such as `Europe/Rome`.")] = None
    days: Annotated[
        Annotated[list[int], Field(fail_fast=True)] | None,
        Doc("Weekdays on which the window starts, from 0 (Sunday) to 6 (Saturday). Left out or empty: every day."),
    ] = None
    reason: Annotated[str | None, Doc("The reason for the blackout. Explanations show it.")] = None


@routes.add("GET", "/v1/blackouts", role=Role.VIEWER, all_brands=True, responses={200: Page[BlackoutView]})
async def list_blackouts(context: Context) -> JSONResponse:
    """List blackouts.

    Returns all blackouts in one page.
    """
    blackouts = await context.app.gate_control.blackouts()
    return JSONResponse({"data": [render_blackout(blackout) for blackout in blackouts], "next_cursor": None})


@routes.add(
    "POST",
    "/v1/blackouts",
    role=Role.EDITOR,
    all_brands=True,
    query=(PREVIEW,),
    responses={200: CreatedBlackoutView, 201: CreatedBlackoutView},
    errors={409: "The same blackout exists."},
    links=(Link(201, "/v1/blackouts/{blackout_id}", "/id"),),
)
async def create_blackout(body: BlackoutBody, context: Context) -> JSONResponse:
    """Create blackout.

    Creates a blackout (201) and returns the jobs that it delays. With `preview=true` the request creates nothing (200).
    """
    preview, gate_control = context.query[PREVIEW], context.app.gate_control
    blackout = await gate_control.draft_blackout(body.model_dump(exclude_none=True))
    impact = render_blackout_impact(await gate_control.preview_blackout(blackout))
    if not preview:
        await gate_control.save_blackout(blackout, actor=context.caller.name)
    return JSONResponse(render_blackout(blackout) | impact | {"preview": preview}, 200 if preview else 201)


@routes.add(
    "DELETE",
    "/v1/blackouts/{blackout_id}",
    role=Role.EDITOR,
    all_brands=True,
    query=(REASON,),
    responses={200: BlackoutView},
)
async def delete_blackout(
    blackout_id: Annotated[UUID, Path(description="Id of the blackout.")], context: Context
) -> JSONResponse:
    """Delete blackout.

    Deletes a blackout and returns it. Jobs that waited for its end run when they are due.
    """
    reason, actor = context.query[REASON] or "", context.caller.name
    blackout = await context.app.gate_control.remove_blackout(blackout_id, reason=reason, actor=actor)
    return JSONResponse(render_blackout(blackout))
