"""Serve API requests in this process, on a database of this machine."""

import asyncio
from collections.abc import Generator
from typing import Any
from urllib.parse import unquote, urlencode

from starlette.types import ASGIApp, Message, Scope

from postino.api.authentication import FixedCaller
from postino.api.caller import Caller
from postino.api.server import ROUTES, build_app
from postino.cli.ports import LOOPBACK
from postino.cli.progress import ProgressLine
from postino.client.messages import ApiRequest, ApiResponse, NoResponse
from postino.client.transport import ServerAddress
from postino.errors import WrongUse
from postino.wiring import Postino

LOCAL = ServerAddress("This queue", None, 1.0)


class InProcessTransport:
    """Sends requests to the API as the owner. `name` is the actor in the audit trail."""

    server = LOCAL

    def __init__(self, postino: Postino, name: str, runner: asyncio.Runner) -> None:
        self.progress = ProgressLine("jobs done")
        self.postino, self.runner = postino, runner
        self.check = FixedCaller(Caller(name, "cli", progress=self.progress.update))
        self.apps: dict[str, ASGIApp] = {}

    def send(self, request: ApiRequest[Any]) -> ApiResponse | NoResponse:
        try:
            return self.runner.run(self.call(request))
        finally:
            self.progress.clear()

    def stream(self, request: ApiRequest[Any]) -> Generator[bytes | ApiResponse | NoResponse, None, None]:
        raise WrongUse("Events need a server. Select one with --server URL.", "server")

    async def call(self, request: ApiRequest[Any]) -> ApiResponse:
        """Return the response of the ASGI application. Unexpected errors are raised."""
        messages: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": request.body or b"", "more_body": False}

        async def send(message: Message) -> None:
            messages.append(message)

        await self.select_app(request)(build_scope(request), receive, send)
        start, *parts = messages
        headers = {name.decode("latin-1"): text.decode("latin-1") for name, text in start["headers"]}
        return ApiResponse(start["status"], headers, b"".join(part.get("body", b"") for part in parts))

    def select_app(self, request: ApiRequest[Any]) -> ASGIApp:
        prefix = request.path.split("/")[2]
        if prefix not in self.apps:
            # Building only the routes that can match saves most of the time a command takes.
            routes = [route for route in ROUTES if route.path.split("/")[2:3] == [prefix]]
            self.apps[prefix] = build_app(self.postino, self.check, routes)
        return self.apps[prefix]


def build_scope(request: ApiRequest[Any]) -> Scope:
    headers = [(name.lower().encode(), text.encode()) for name, text in request.headers.items()]
    if request.body is not None:
        headers.append((b"content-length", str(len(request.body)).encode()))
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote(request.path),
        "raw_path": request.path.encode(),
        "root_path": "",
        "query_string": urlencode(request.query).encode(),
        "headers": headers,
        "client": (LOOPBACK, 0),
        "server": None,
    }
