"""`/v1/users`: people who sign in with a password or a sign-in link."""

from typing import Annotated
from uuid import UUID

from fastapi import Path
from fastapi.responses import JSONResponse

from postino.api.context import Context
from postino.api.models import Reason, Strict, Texts
from postino.api.query import CURSOR, LIMIT, PAGE, REASON
from postino.api.routes import Link, Routes
from postino.api.views.users import render_user
from postino.auth.user_checks import parse_role
from postino.client.types.auth import UserView
from postino.client.types.schema import Doc, Page
from postino.errors import WrongUse
from postino.values.auth import Role

routes = Routes("users")
UserId = Annotated[UUID, Path(description="Id of the user.")]


class UserBody(Strict):
    """A user to create."""

    name: Annotated[str, Doc("Name to sign in with.")]
    role: Annotated[str, Doc("What the user may do: `viewer`, `editor` or `owner`.")]
    password: Annotated[str | None, Doc("Password. Left out: the user can sign in only with a sign-in link.")] = None
    brands: Annotated[Texts | None, Doc("Brands that the user has access to. Left out: all brands.")] = None
    reason: Annotated[Reason, Doc("The reason, for the audit trail.")] = ""


class EditUserBody(Strict):
    """The fields to change. Other fields keep their values."""

    role: Annotated[str | None, Doc("What the user may do: `viewer`, `editor` or `owner`.")] = None
    password: Annotated[
        str | None, Doc("New password; it ends all sessions of the user. Null removes the password.")
    ] = None
    brands: Annotated[Texts | None, Doc("Brands that the user has access to. Null: all brands.")] = None
    reason: Annotated[Reason, Doc("The reason, for the audit trail.")] = ""


@routes.add(
    "POST",
    "/v1/users",
    role=Role.OWNER,
    all_brands=True,
    responses={201: UserView},
    errors={409: "A user with this name exists."},
    links=(Link(201, "/v1/users/{user_id}", "/id"),),
)
async def create_user(body: UserBody, context: Context) -> JSONResponse:
    """Create user.

    Adds a person who can sign in.
    """
    role, act = parse_role(body.role), context.act(body.reason)
    user = await context.app.users.add(body.name, role, password=body.password, brands=body.brands, act=act)
    return JSONResponse(render_user(user), 201)


@routes.add("GET", "/v1/users", role=Role.OWNER, all_brands=True, query=PAGE, responses={200: Page[UserView]})
async def list_users(context: Context) -> JSONResponse:
    """List users.

    Returns users, oldest first.
    """
    limit = context.query[LIMIT]
    users = await context.app.store.users(context.query[CURSOR], limit + 1)
    cursor = str(users[limit - 1].id) if len(users) > limit else None
    return JSONResponse({"data": [render_user(user) for user in users[:limit]], "next_cursor": cursor})


@routes.add("GET", "/v1/users/{user_id}", role=Role.OWNER, all_brands=True, responses={200: UserView})
async def get_user(user_id: UserId, context: Context) -> JSONResponse:
    """Get user.

    Returns one user.
    """
    return JSONResponse(render_user(await context.app.store.user(user_id)))


@routes.add("PATCH", "/v1/users/{user_id}", role=Role.OWNER, all_brands=True, responses={200: UserView})
async def edit_user(user_id: UserId, body: EditUserBody, context: Context) -> JSONResponse:
    """Edit user.

    Changes the role, the brands or the password. A new password ends all sessions of the user.
    """
    changes = body.model_dump(exclude_unset=True, exclude={"reason"})
    if not changes:
        raise WrongUse("Give what to change: `role`, `brands` or `password`.")
    if "role" in changes:
        changes["role"] = parse_role(changes["role"] or "")
    return JSONResponse(render_user(await context.app.users.change(user_id, changes, context.act(body.reason))))


@routes.add(
    "DELETE", "/v1/users/{user_id}", role=Role.OWNER, all_brands=True, query=(REASON,), responses={200: UserView}
)
async def delete_user(user_id: UserId, context: Context) -> JSONResponse:
    """Delete user.

    Removes a user and ends all their sessions immediately.
    """
    user = await context.app.store.remove_user(user_id, context.act(context.query[REASON]))
    return JSONResponse(render_user(user))
