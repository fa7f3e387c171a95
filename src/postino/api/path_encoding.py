"""Names in paths: an encoded slash (`%2F`) belongs to the name it is in and does not separate path segments."""

import re
from urllib.parse import unquote

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from postino.errors import WrongUse
from postino.values.text import INVALID_CHARACTERS, INVALID_CHARACTERS_MESSAGE

ENCODED_SLASH = re.compile("%2f", re.IGNORECASE)
SLASH = "\udc2f"  # stands for an encoded slash until the route is known; decoded text never contains it


class PathEncoding:
    """Middleware: keep encoded slashes apart from those that separate segments."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and b"%" in (raw := scope.get("raw_path") or b""):
            scope = {**scope, "path": SLASH.join(map(unquote, ENCODED_SLASH.split(raw.decode("ascii"))))}
        await self.app(scope, receive, send)


def decode_names(request: Request) -> None:
    """Put the slashes back into the path parameters. Raises WrongUse for characters that no database stores."""
    names = request.scope["path_params"]
    for name, text in names.items():
        names[name] = str(text).replace(SLASH, "/")
        if INVALID_CHARACTERS.search(names[name]):
            raise WrongUse(f"{name} {INVALID_CHARACTERS_MESSAGE}", name)
