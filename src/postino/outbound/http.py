"""The HTTP client for all calls to other servers.

It tells exactly whether a request may have left this machine, sends nothing twice, keeps secrets out of messages and
logs, and does not connect to private networks unless the settings allow the origin.
"""

import io
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AsyncExitStack
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

import aiohttp
import structlog
from aiohttp.abc import AbstractResolver
from aiohttp.resolver import DefaultResolver
from yarl import URL

from postino.errors import PostinoError
from postino.outbound.connector import MaySend, RequestProgress, SendOnceConnector, current_request
from postino.outbound.redaction import Redaction
from postino.outbound.ssrf import (
    DownloadRefused,
    PublicResolver,
    UnsafeUrl,
    check_url,
    create_public_socket,
    is_allowed_origin,
)
from postino.values.provider import Answer, LostResponse, NotSent, Unreachable, UnreadableResponse

log = structlog.get_logger("postino.outbound")

MAX_RESPONSE_BYTES = 10_000_000
MAX_REDIRECTS = 3
# Shorter than the idle timeout of any server: a connection the server closes while we write to it is a lost response.
KEEP_ALIVE_SECONDS = 2.0
# A large video may take longer than a response to a call, as long as data keeps arriving.
DOWNLOAD_TIMEOUT_FACTOR = 3
USER_AGENT = "Postino"


def allow_sending() -> str | None:
    """Let every request be sent: the default for `may_send`."""
    return None


def deny_private(_: URL) -> bool:
    """Allow no private address: the default for `allow_private`."""
    return False


class OutboundHttp:
    """The HTTP client of one process; `open` gives each step of a job its own view of it.

    Media is downloaded from the public internet and from `allowed_origins`. A server whose URL a person entered must
    be public unless `allow_private` accepts it.
    """

    def __init__(
        self,
        *,
        allowed_origins: Collection[str] = (),
        allow_private: Callable[[URL], bool] = deny_private,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self.allowed_origins = allowed_origins
        self.allow_private = allow_private
        self._resolver = resolver
        self._resources = AsyncExitStack()

    async def __aenter__(self) -> Self:
        resolver = self._resolver or DefaultResolver()
        self._resources.push_async_callback(resolver.close)
        public_only = {
            "resolver": PublicResolver(resolver),
            "use_dns_cache": False,
            "happy_eyeballs_delay": None,  # connect to one address after the other: a race would hide UnsafeUrl
            "socket_factory": create_public_socket,
        }
        any_address = {"resolver": resolver}
        single_use, keep_alive = {"force_close": True}, {"keepalive_timeout": KEEP_ALIVE_SECONDS}
        self._single_use = (
            await self._create_session(single_use | public_only),
            await self._create_session(single_use | any_address),
        )
        self._keep_alive = (
            await self._create_session(keep_alive | public_only),
            await self._create_session(keep_alive | any_address),
        )
        return self

    def single_use_session(self, private: bool) -> aiohttp.ClientSession:
        """Return the session that opens a new connection for each request; without `private`, to public addresses."""
        return self._single_use[private]

    def keep_alive_session(self, private: bool) -> aiohttp.ClientSession:
        """Return the session that reuses connections; without `private`, to public addresses only."""
        return self._keep_alive[private]

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._resources.aclose()

    def open(
        self,
        *,
        timeout: timedelta,
        visible: bool,
        secrets: Collection[str] = (),
        may_send: MaySend = allow_sending,
        public: bool = False,
    ) -> "StepHttp":
        """Return the client for one step.

        `may_send` returns the reason why nothing may be sent any more; `secrets` appear in no message and no log. With
        `public` the server must have a public address, or one that `allow_private` accepts.
        """
        return StepHttp(self, timeout, visible, Redaction(secrets), may_send, public)

    async def _create_session(self, connector_options: Mapping[str, Any]) -> aiohttp.ClientSession:
        session = aiohttp.ClientSession(
            connector=SendOnceConnector(limit=0, **connector_options),
            cookie_jar=aiohttp.DummyCookieJar(),  # a cookie set for one account must not be sent for another
            headers={"User-Agent": USER_AGENT},
        )
        return await self._resources.enter_async_context(session)


class StepHttp:
    """An `Http` for one step of a job. A visible request gets a new connection that is used once."""

    def __init__(
        self,
        outbound: OutboundHttp,
        timeout: timedelta,
        visible: bool,
        redact: Redaction,
        may_send: MaySend,
        public: bool,
    ) -> None:
        self._outbound, self._timeout, self._visible, self._public = outbound, timeout, visible, public
        self._redact, self._may_send = redact, may_send

    def __repr__(self) -> str:
        return f"{type(self).__name__}(timeout={self._timeout}, visible={self._visible})"

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """Send a request and return the response, whatever its status. Redirects are returned, not followed."""
        if any(set(value) & {"\r", "\n", "\0"} for value in (headers or {}).values()):
            raise NotSent("Nothing was sent: a credential contains a line break. Enter it again.")
        data = dict(form) if form is not None else io.BytesIO(body) if body is not None else None
        content = {"headers": headers, "params": params, "json": json, "data": data}
        private = self._may_be_private(url)
        outbound = self._outbound
        session = outbound.single_use_session(private) if self._visible else outbound.keep_alive_session(private)
        limit = aiohttp.ClientTimeout(total=timeout if timeout is not None else self._timeout.total_seconds())
        try:
            return await self._exchange(session, method, url, MAX_RESPONSE_BYTES, limit, content)
        except UnsafeUrl as error:
            raise Unreachable(f"Nothing was sent: {error}") from None

    async def fetch(self, url: str, *, most: int) -> Answer:
        """Download at most `most` bytes from a URL a person entered, following redirects.

        Raises UnsafeUrl if the URL or a redirect leads to a private network, DownloadRefused if the file is larger.
        """
        seconds = self._timeout.total_seconds()
        total = seconds * DOWNLOAD_TIMEOUT_FACTOR
        limit = aiohttp.ClientTimeout(total=total, sock_connect=seconds, sock_read=seconds)
        for _ in range(MAX_REDIRECTS + 1):
            if problem := check_url(url, self._outbound.allowed_origins):
                raise UnsafeUrl(f"{self._shorten(url)} cannot be used: {problem}.")
            allowed = is_allowed_origin(URL(url), self._outbound.allowed_origins)
            session = self._outbound.keep_alive_session(True) if allowed else self._outbound.single_use_session(False)
            try:
                response = await self._exchange(session, "GET", url, most, limit, {})
            except ResponseTooLarge:
                raise DownloadRefused(f"{self._shorten(url)} is larger than the limit of {most:,} bytes.") from None
            if not (300 <= response.status < 400 and "location" in response.headers):
                return response
            url = self._resolve_redirect(url, response.headers["location"])
        raise UnsafeUrl(f"{self._shorten(url)} cannot be used: more than {MAX_REDIRECTS} redirects lead to it.")

    async def _exchange(
        self,
        session: aiohttp.ClientSession,
        method: str,
        url: str,
        max_bytes: int,
        limit: aiohttp.ClientTimeout,
        content: Mapping[str, Any],
    ) -> Answer:
        if reason := self._describe_send_refusal():
            raise NotSent(reason)
        progress, start, status = RequestProgress(self._describe_send_refusal), time.monotonic(), "none"
        token = current_request.set(progress)
        try:
            async with session.request(method, url, **content, timeout=limit, allow_redirects=False) as response:
                status = str(response.status)
                headers = {name.lower(): value for name, value in response.headers.items()}
                body = await _read_body(response, max_bytes)
                return Answer(response.status, headers, body if response.ok else self._redact.redact_body(body))
        except PostinoError:
            raise
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self._to_error(progress, url, limit.sock_read or limit.total or 0, error) from None
        finally:
            current_request.reset(token)
            progress.abort_unsent()
            milliseconds = round((time.monotonic() - start) * 1000)
            log.debug("call", method=method, url=self._shorten(url), status=status, ms=milliseconds)

    def _may_be_private(self, url: str) -> bool:
        try:
            return not self._public or self._outbound.allow_private(URL(url))
        except ValueError:  # the request itself refuses a string that is not a URL
            return False

    def _describe_send_refusal(self) -> str | None:
        reason = self._may_send()
        return reason and self._redact(reason)

    def _to_error(
        self, progress: RequestProgress, url: str, seconds: float, error: Exception
    ) -> NotSent | LostResponse:
        host = self._redact(_parse_host(url))
        timed_out = isinstance(error, TimeoutError)
        if not progress.may_have_left:
            reason = f"no connection within {seconds:g} s" if timed_out else _describe_cause(error)
            return Unreachable(f"Nothing was sent: {host} cannot be reached ({self._redact(reason)}).")
        if isinstance(error, aiohttp.ClientResponseError):
            return UnreadableResponse(f"{host} sent a response that is not valid HTTP.")
        if timed_out:
            return LostResponse(f"{host} sent no complete response within {seconds:g} s. The request may have arrived.")
        return LostResponse(f"{host} closed the connection before a complete response. The request may have arrived.")

    def _resolve_redirect(self, url: str, location: str) -> str:
        try:
            return str(URL(url).join(URL(location)))
        except ValueError:
            raise UnsafeUrl(f"{self._shorten(url)} cannot be used: it redirects to an invalid URL.") from None

    def _shorten(self, url: str) -> str:
        """Return the URL without query, fragment, credentials and known secrets."""
        return self._redact(_parse_host(url) if "@" in url else url.partition("?")[0].partition("#")[0])


class ResponseTooLarge(UnreadableResponse):
    """The response is larger than Postino reads."""


async def _read_body(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    too_large = ResponseTooLarge(f"{response.url.host} sent a response of more than {max_bytes:,} bytes.")
    if (response.content_length or 0) > max_bytes:
        raise too_large
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > max_bytes:
            raise too_large
    return bytes(body)


def _parse_host(url: str) -> str:
    try:
        return URL(url).host_port_subcomponent or "the URL"
    except ValueError:
        return "the URL"


def _describe_cause(error: Exception) -> str:
    """Return the operating system's message: that of the client library may contain the whole URL."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    match cause:
        case ValueError():
            return "it is not a URL"
        case OSError(strerror=str(message)) if message:
            return message
        case _:
            return type(cause).__name__
