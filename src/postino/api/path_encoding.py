"""Names in an address: a slash that was written as `%2F` belongs to the name it is in, and parts nothing."""

import re
from urllib.parse import unquote

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from postino.api.body_limits import BROKEN
from postino.errors import WrongUse

WRITTEN = re.compile("%2f", re.IGNORECASE)
SLASH = "\udc2f"  # nothing that is decoded ever contains it


class Addresses:
    """Keeps such slashes apart from the others until it is known which route is meant."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and b"%" in (raw := scope.get("raw_path") or b""):
            scope = {**scope, "path": SLASH.join(map(unquote, WRITTEN.split(raw.decode("ascii"))))}
        await self.app(scope, receive, send)


async def name_whole(request: Request) -> None:
    """The names in an address as they were meant. Raises WrongUse where no database could even be asked for one."""
    names = request.scope["path_params"]
    for name, text in names.items():
        names[name] = str(text).replace(SLASH, "/")
        if BROKEN.search(names[name]):
            raise WrongUse(f"{name} holds a broken character: type it again instead of pasting it.", name)
