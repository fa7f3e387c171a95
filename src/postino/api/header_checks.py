"""Middleware that rejects requests whose headers are ambiguous, and accepts absolute URLs as proxies send them."""

import re
from collections import Counter
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

from postino.api.problems import add_unchanged, problem

SINGLE_HEADERS = (b"authorization", b"idempotency-key", b"x-csrf-token", b"last-event-id")
ABSOLUTE_URL = re.compile(rb"https?://([^/]*)", re.IGNORECASE)
REPEATED = "The header {} is given twice. Give it once."
TWO_LENGTHS = "A request must not have both Content-Length and Transfer-Encoding."  # request smuggling


class HeaderChecks:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        counts = Counter(name for name, _ in scope["headers"])
        repeated = next((name.decode() for name in SINGLE_HEADERS if counts[name] > 1), None)
        if b"content-length" in counts and b"transfer-encoding" in counts:
            detail = add_unchanged(TWO_LENGTHS, scope["method"])
            await problem(400, detail, None, {"Connection": "close"})(scope, receive, send)
        elif repeated is not None:
            name = repeated.title()
            await problem(422, add_unchanged(REPEATED.format(name), scope["method"]), name)(scope, receive, send)
        else:
            await self.app(strip_origin(scope), receive, send)


def strip_origin(scope: Scope) -> Scope:
    """Turn an absolute URL into a path and a `Host` header."""
    raw: bytes = scope.get("raw_path") or b""
    match = ABSOLUTE_URL.match(raw)
    if match is None:
        return scope
    path = raw[match.end() :] or b"/"
    headers = [(name, value) for name, value in scope["headers"] if name != b"host"]
    changes = {"path": unquote(path.decode("ascii")), "raw_path": path, "headers": [(b"host", match[1]), *headers]}
    return {**scope, **changes}
