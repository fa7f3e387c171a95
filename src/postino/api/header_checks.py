"""Middleware that rejects requests whose headers are ambiguous, and accepts absolute URLs as proxies send them.

It drops the cookies of other applications on the same host: Python takes quadratic time to parse a quoted cookie.
"""

import re
from collections import Counter
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

from postino.api.authentication import COOKIE
from postino.api.problems import add_unchanged, problem

SINGLE_HEADERS = (b"authorization", b"idempotency-key", b"x-csrf-token", b"last-event-id")
SESSION_COOKIE = f"{COOKIE}=".encode()
MAX_COOKIE = 200  # bytes; ours has 90
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
            await self.app(keep_session_cookie(strip_origin(scope)), receive, send)


def keep_session_cookie(scope: Scope) -> Scope:
    """Remove all cookies but that of the session."""
    texts = [text for name, text in scope["headers"] if name == b"cookie"]
    if not texts:
        return scope
    pairs = [pair.strip() for text in texts for pair in text.split(b";")]
    kept = [pair for pair in pairs if pair.startswith(SESSION_COOKIE) and len(pair) <= MAX_COOKIE]
    headers = [(name, text) for name, text in scope["headers"] if name != b"cookie"]
    return {**scope, "headers": [*headers, *([(b"cookie", b"; ".join(kept[-1:]))] if kept else [])]}


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
