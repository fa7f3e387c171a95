"""Authorization: whether a caller's role and brands are enough for a route."""

from fastapi import HTTPException

from postino.api.caller import Caller
from postino.api.routes import SAFE_METHODS, Route
from postino.values.auth import Role

RANK = (Role.VIEWER, Role.EDITOR, Role.OWNER)


def authorize(caller: Caller, route: Route) -> None:
    """Raise 403 unless the caller may use the route."""
    unchanged = "" if route.method in SAFE_METHODS else " Nothing was changed."
    if route.role is not None and RANK.index(caller.role) < RANK.index(route.role):
        message = f"This needs the role {route.role.value}, and you have the role {caller.role.value}.{unchanged}"
        raise HTTPException(403, message)
    if caller.brands is not None and route.all_brands:
        raise HTTPException(403, f"This needs access to all brands, and you have access to some.{unchanged}")
