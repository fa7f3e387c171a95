"""Names in an address: a slash that was written as `%2F` belongs to the name it is in, and parts nothing."""

import re
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

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


def put_slashes_back(scope: Scope) -> None:
    names = scope["path_params"]
    for name, text in names.items():
        names[name] = text.replace(SLASH, "/") if isinstance(text, str) else text
