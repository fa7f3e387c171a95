"""A server before the sandbox that repeats every secret it has seen, in every encoding, in its error responses."""

from __future__ import annotations

import json
import re
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp import web

from postino.outbound.redaction import encode_secret

PATH_TOKEN = re.compile(r"/bot([^/]+)/")
SECRET_FIELDS = ("password", "accessJwt", "refreshJwt", "access_token", "refresh_token")
JWT = re.compile(rb"eyJ[\w.-]+")
VISIBLE = re.compile(r"putRecord|createRecord|applyWrites|/statuses$|send[A-Z]\w+$")
HOP_HEADERS = {"host", "content-length", "transfer-encoding", "connection", "content-encoding", "date", "server"}


class EchoingProxy:
    """Forwards requests to the sandbox; visible ones get an error with all secrets, with this status.

    With `opaque`, tokens of a session have no form by which one could recognise them.
    """

    def __init__(self, target: str, status: int, *, opaque: bool = False) -> None:
        self.target, self.status, self.opaque = target, status, opaque
        self.secrets: set[str] = set()
        self.echoes = 0

    async def __aenter__(self) -> Self:
        self.session = aiohttp.ClientSession()
        app = web.Application(client_max_size=100_000_000)
        app.router.add_route("*", "/{tail:.*}", self.handle)
        self.runner = web.AppRunner(app)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self.runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.runner.cleanup()
        await self.session.close()

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.secrets |= {token for _, _, token in [request.headers.get("Authorization", "").partition(" ")] if token}
        self.secrets |= set(PATH_TOKEN.findall(request.path))
        self.collect(body)
        if VISIBLE.search(request.path):
            return self.echo()
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP_HEADERS}
        url = self.target + request.path_qs
        async with self.session.request(request.method, url, data=body, headers=headers) as response:
            received = await response.read()
            if self.opaque:
                received = JWT.sub(lambda it: b"opaque" + bytes(reversed(it[0])).replace(b".", b"x")[:60], received)
            self.collect(received)
            kept = {name: value for name, value in response.headers.items() if name.lower() not in HOP_HEADERS}
            return web.Response(status=response.status, body=received, headers=kept)

    def collect(self, body: bytes) -> None:
        """Remember the secrets in a request or a response."""
        try:
            content = json.loads(body)
        except ValueError:
            return
        if isinstance(content, dict):
            self.secrets |= {str(content[name]) for name in SECRET_FIELDS if name in content}

    def echo(self) -> web.Response:
        self.echoes += 1
        # The most telling last: a message quotes only the beginning.
        forms = [form for secret in sorted(self.secrets) for form in sorted(encode_secret(secret), key=len)]
        text = " ".join([*sorted(self.secrets), *(f"Bearer {secret}" for secret in sorted(self.secrets)), *forms])
        error = {"error": text, "message": text, "ok": False, "error_code": self.status, "description": text}
        challenge = f'Bearer error="{" ".join(sorted(self.secrets))}"'
        return web.json_response(error, status=self.status, headers={"WWW-Authenticate": challenge})
