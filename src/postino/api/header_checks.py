"""Beginnings of requests that can be taken in two ways: nobody guesses which was meant."""

import re
from collections import Counter
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

from postino.api.problems import problem, unless_asking

ONCE = (b"authorization", b"idempotency-key", b"x-csrf-token", b"last-event-id")
WHOLE = re.compile(rb"https?://([^/]*)", re.IGNORECASE)
TWICE = "The header {} is there twice: say it once."
TWO_LENGTHS = "Content-Length and Transfer-Encoding do not go together: whoever passes it on may end it elsewhere."


class Heads:
    """Takes an address with its host, as proxies write it; refuses what is said twice."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        times = Counter(name for name, _ in scope["headers"])
        twice = next((name.decode() for name in ONCE if times[name] > 1), None)
        if b"content-length" in times and b"transfer-encoding" in times:
            detail = unless_asking(TWO_LENGTHS, scope["method"])
            await problem(400, detail, None, {"Connection": "close"})(scope, receive, send)
        elif twice is not None:
            name = twice.title()
            await problem(422, unless_asking(TWICE.format(name), scope["method"]), name)(scope, receive, send)
        else:
            await self.app(without_host(scope), receive, send)


def without_host(scope: Scope) -> Scope:
    raw: bytes = scope.get("raw_path") or b""
    found = WHOLE.match(raw)
    if found is None:
        return scope
    path = raw[found.end() :] or b"/"
    headers = [(name, text) for name, text in scope["headers"] if name != b"host"]
    here = {"path": unquote(path.decode("ascii")), "raw_path": path, "headers": [(b"host", found[1]), *headers]}
    return {**scope, **here}
