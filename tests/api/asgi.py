"""Send requests to the API's ASGI application within this process, and count what it reads."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp, Message

from postino.api.server import make_app
from postino.config import load_config

LOCALHOST = "127.0.0.1"


@dataclass
class AsgiReply:
    """A response, and how many messages of the body the application read."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    reads: int

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class AsgiClient:
    app: ASGIApp
    key: str
    address: str = LOCALHOST
    scheme: str = "http"
    headers: dict[str, str] = field(default_factory=dict)

    async def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> AsgiReply:
        """Send a request. Header names are written with underscores; an empty header is left out."""
        named = {"host": "test", "authorization": f"Bearer {self.key}"} | self.headers
        named |= {name.replace("_", "-").lower(): text for name, text in headers.items()}
        if body is not None:
            named.setdefault("content-length", str(len(body)))
        parts, sent, reads = [body or b""], list[Message](), 0

        async def receive() -> Message:
            nonlocal reads
            reads += 1
            return {"type": "http.request", "body": parts.pop()} if parts else {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message)

        plain, _, query = path.partition("?")
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": self.scheme,
            "path": plain, "raw_path": plain.encode(), "root_path": "", "query_string": query.encode(),
            "headers": [(name.encode(), text.encode()) for name, text in named.items() if text],
            "client": (self.address, 1), "server": ("test", 80),
        }  # fmt: skip
        await self.app(scope, receive, send)
        received = {name.decode(): text.decode() for name, text in sent[0]["headers"]}
        return AsgiReply(sent[0]["status"], received, b"".join(one.get("body", b"") for one in sent[1:]), reads)


@asynccontextmanager
async def run_api(folder: Path, **settings: str) -> AsyncIterator[AsgiClient]:
    """Run the API without a server; settings are environment variables."""
    app: FastAPI = make_app(load_config(folder, environment=settings))
    async with app.router.lifespan_context(app):
        yield AsgiClient(app, (folder / "api.key").read_text().strip())
