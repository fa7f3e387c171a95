"""Send requests with `http.client`. `async_transport` does the same with aiohttp.

Each request uses its own connection, so that no request is lost on a stale one. A transport never retries.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from postino.client.messages import ApiRequest, ApiResponse, NoResponse
from postino.client.sse import ENDED
from postino.errors import WrongUse

CHUNK_BYTES = 65536


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The URL of a server, the API key, and the timeout in seconds without any data."""

    url: str
    key: str | None = field(repr=False)
    timeout: float

    def headers(self, request: ApiRequest[Any]) -> dict[str, str]:
        authorization = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        return {"User-Agent": "postino-client", "Accept-Encoding": "identity", **authorization, **request.headers}

    def describe_error(self, error: Exception) -> str:
        """Describe a network error without any part of the request that the error holds."""
        match error:
            case TimeoutError():
                return f"no data within {self.timeout:g} s"
            case OSError() if error.strerror:
                return error.strerror
            case ConnectionError():
                return "the connection broke"
            case _:
                return f"the response cannot be read ({type(error).__name__})"


def parse_server(url: str, key: str | None, timeout: float) -> ServerAddress:
    """Check URL, API key and timeout. Raise WrongUse if no request can be sent with them; never show the key."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")
    except ValueError:
        is_valid = False
    if not is_valid or not url.isascii() or not url.isprintable() or " " in url:
        raise WrongUse("url: must be a URL such as http://127.0.0.1:8700.", "url")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise WrongUse("url: must not contain a user name, password, query or fragment. Pass the key as `key`.", "url")
    if key is not None and not (key.isascii() and key.isprintable() and key and " " not in key):
        raise WrongUse("key: an API key consists of printable ASCII characters without spaces.", "key")
    if not timeout > 0:
        raise WrongUse("timeout: must be greater than zero.", "timeout")
    return ServerAddress(url.rstrip("/"), key, timeout)


class Transport(Protocol):
    """Sends requests to one server and waits for the responses."""

    server: ServerAddress

    def send(self, request: ApiRequest[Any]) -> ApiResponse | NoResponse: ...

    def stream(self, request: ApiRequest[Any]) -> Generator[bytes | ApiResponse | NoResponse, None, None]:
        """Yield the bytes as they arrive; the last item says why the stream ended."""
        ...


class HttpTransport:
    """Sends requests and blocks until the response is complete."""

    def __init__(self, server: ServerAddress) -> None:
        self.server = server
        self.parts = urlsplit(server.url)
        self.tls = ssl.create_default_context() if self.parts.scheme == "https" else None

    def send(self, request: ApiRequest[Any]) -> ApiResponse | NoResponse:
        with closing(self.connect()) as connection:
            try:
                return read_response(self.start(connection, request))
            except (OSError, http.client.HTTPException) as error:
                return NoResponse(self.server.describe_error(error))

    def stream(self, request: ApiRequest[Any]) -> Generator[bytes | ApiResponse | NoResponse, None, None]:
        with closing(self.connect()) as connection:
            try:
                response = self.start(connection, request)
                if response.status != 200:
                    yield read_response(response)
                    return
                while chunk := response.read1(CHUNK_BYTES):
                    yield chunk
                yield ENDED
            except (OSError, http.client.HTTPException) as error:
                yield NoResponse(self.server.describe_error(error))

    def connect(self) -> http.client.HTTPConnection:
        host, port, timeout = self.parts.hostname or "", self.parts.port, self.server.timeout
        if self.tls is None:
            return http.client.HTTPConnection(host, port, timeout=timeout)
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=self.tls)

    def start(self, connection: http.client.HTTPConnection, request: ApiRequest[Any]) -> http.client.HTTPResponse:
        target = self.parts.path + request.target
        connection.request(request.method, target, request.body, self.server.headers(request))
        return connection.getresponse()


def read_response(response: http.client.HTTPResponse) -> ApiResponse:
    headers = {name.lower(): text for name, text in response.getheaders()}
    return ApiResponse(response.status, headers, response.read())
