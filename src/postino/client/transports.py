"""The way out for who waits: `http.client`. For who does something else meanwhile it is in `meanwhile`.

Each request has a connection of its own, so that a connection gone stale loses none, and neither repeats one by itself.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from postino.client.hearing import ENDED
from postino.client.messages import Answer, Lost, Request
from postino.errors import WrongUse

PIECE = 65536


@dataclass(frozen=True, slots=True)
class Server:
    """Where it is, and what opens its door. `timeout` is how many seconds may pass without a sign of life."""

    url: str
    key: str | None = field(repr=False)
    timeout: float

    def headers(self, request: Request[Any]) -> dict[str, str]:
        door = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        return {"User-Agent": "postino-client", "Accept-Encoding": "identity", **door, **request.headers}

    def why(self, error: Exception) -> str:
        """In words, and without what the error carries of the request."""
        match error:
            case TimeoutError():
                return f"nothing came within {self.timeout:g} s"
            case OSError() if error.strerror:
                return error.strerror
            case ConnectionError():
                return "the connection broke"
            case _:
                return f"what it said could not be read ({type(error).__name__})"


def server_at(url: str, key: str | None, timeout: float) -> Server:
    """Refuses an address or a key that no request could be sent with; a key is never shown."""
    try:
        parts = urlsplit(url)
        named = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")
    except ValueError:
        named = False
    if not named or not url.isascii() or not url.isprintable() or " " in url:
        raise WrongUse("url: must be an address such as http://127.0.0.1:8700.", "url")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise WrongUse(
            "url: only the address, without names, passwords or questions. The key has its own field.", "url"
        )
    if key is not None and not (key.isascii() and key.isprintable() and key and " " not in key):
        raise WrongUse("key: an API key is one word of printable ASCII characters.", "key")
    if not timeout > 0:
        raise WrongUse("timeout: must be longer than nothing.", "timeout")
    return Server(url.rstrip("/"), key, timeout)


class Transport(Protocol):
    """Brings requests to a Postino, and waits for what it says."""

    server: Server

    def send(self, request: Request[Any]) -> Answer | Lost: ...

    def stream(self, request: Request[Any]) -> Generator[bytes | Answer | Lost, None, None]:
        """The bytes as they come; last, why there are no more."""
        ...


class Blocking:
    """Stands still until there is an answer."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.parts = urlsplit(server.url)
        self.trust = ssl.create_default_context() if self.parts.scheme == "https" else None

    def send(self, request: Request[Any]) -> Answer | Lost:
        with closing(self.connection()) as connection:
            try:
                return whole(self.begun(connection, request))
            except (OSError, http.client.HTTPException) as error:
                return Lost(self.server.why(error))

    def stream(self, request: Request[Any]) -> Generator[bytes | Answer | Lost, None, None]:
        with closing(self.connection()) as connection:
            try:
                response = self.begun(connection, request)
                if response.status != 200:
                    yield whole(response)
                    return
                while piece := response.read1(PIECE):
                    yield piece
                yield ENDED
            except (OSError, http.client.HTTPException) as error:
                yield Lost(self.server.why(error))

    def connection(self) -> http.client.HTTPConnection:
        host, port, timeout = self.parts.hostname or "", self.parts.port, self.server.timeout
        if self.trust is None:
            return http.client.HTTPConnection(host, port, timeout=timeout)
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=self.trust)

    def begun(self, connection: http.client.HTTPConnection, request: Request[Any]) -> http.client.HTTPResponse:
        path = self.parts.path + request.address
        connection.request(request.method, path, request.body, self.server.headers(request))
        return connection.getresponse()


def whole(response: http.client.HTTPResponse) -> Answer:
    return Answer(response.status, {name.lower(): text for name, text in response.getheaders()}, response.read())
