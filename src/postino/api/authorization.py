"""Authorization: whether a caller's role and brands are enough for a route."""

from fastapi import HTTPException

from postino.api.caller import Caller
from postino.api.routes import SAFE_METHODS, Route
from postino.values.auth import Role
from postino.values.text import MAX_QUOTED

JOB_TYPE = (
    "This needs an API key that may queue jobs of the type {type!r}: one with it in `job_types`, or an owner's. Posts"
    " need none: create them with `POST /v1/posts`. Nothing was changed."
)
RANK = (Role.VIEWER, Role.EDITOR, Role.OWNER)


def authorize(caller: Caller, route: Route) -> None:
    """Raise 403 unless the caller may use the route."""
    unchanged = "" if route.method in SAFE_METHODS else " Nothing was changed."
    if route.role is not None and RANK.index(caller.role) < RANK.index(route.role):
        message = f"This needs the role {route.role.value}, and you have the role {caller.role.value}.{unchanged}"
        raise HTTPException(403, message)
    if caller.brands is not None and route.all_brands:
        raise HTTPException(403, f"This needs access to all brands, and you have access to some.{unchanged}")


def authorize_job_type(caller: Caller, job_type: str) -> None:
    """Raise 403 unless the caller may queue jobs of this type, or give one another payload."""
    if not caller.may_queue(job_type):
        raise HTTPException(403, JOB_TYPE.format(type=job_type[:MAX_QUOTED]))
