"""The HTTP client for all calls to other servers.

It knows whether a request may have left this machine, sends nothing twice, keeps secrets out of messages and
logs, and does not connect to private networks unless the settings allow the origin.
"""

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from io import BytesIO
from types import TracebackType
from typing import Any, Self

import aiohttp
import structlog
from aiohttp.abc import AbstractResolver
from yarl import URL

from postino.errors import PostinoError
from postino.outbound.connector import SendOnceConnector, TooMuchBesideBody, create_socket, current_request
from postino.outbound.progress import MaySend, RequestProgress, allow_sending
from postino.outbound.redaction import (
    MAX_READ_OF_ERROR,
    LearnedSecrets,
    Redaction,
    find_request_secrets,
    find_response_secrets,
)
from postino.outbound.resolver import ThreadResolver
from postino.outbound.ssrf import (
    DownloadRefused,
    PublicResolver,
    UnsafeUrl,
    check_encryption,
    check_host,
    check_url,
    create_public_socket,
    is_allowed_origin,
)
from postino.values.provider import (
    Answer,
    Body,
    LostResponse,
    NotSent,
    ResponseTooLarge,
    Unreachable,
    UnreadableResponse,
)

log = structlog.get_logger("postino.outbound")

MAX_RESPONSE_BYTES = 1_000_000  # of JSON, which is parsed on the event loop; a list of 40 statuses has 200 kB
MAX_REDIRECTS = 3
HEADER_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")  # aiohttp sends none, and says so only after it has connected
NO_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=None)  # RequestProgress has the deadline
# Shorter than the idle timeout of any server: a connection the server closes while we write to it is a lost response.
KEEP_ALIVE_SECONDS = 2.0
USER_AGENT = "Postino"


def deny_private(_: URL) -> bool:
    """Allow no private address: the default for `allow_private`."""
    return False


def describe_nothing(_: URL) -> str | None:
    """Call no server stopped: the default for `describe_stopped`."""
    return None


class OutboundHttp:
    """The HTTP client of one process; `open` gives each step of a job its own view of it.

    Media is downloaded from the public internet and from `allowed_origins`. A server whose URL a person entered must
    be public unless `allow_private` accepts it, and must have TLS unless `http_origins` or `allow_private` accepts it.
    `describe_stopped` returns why a server of this machine must not be connected to now: it may be another program.
    """

    def __init__(
        self,
        *,
        allowed_origins: Collection[str] = (),
        allow_private: Callable[[URL], bool] = deny_private,
        http_origins: Collection[str] = (),
        describe_stopped: Callable[[URL], str | None] = describe_nothing,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self.allowed_origins = allowed_origins
        self.allow_private = allow_private
        self.http_origins = http_origins
        self.describe_stopped = describe_stopped
        self.learned = LearnedSecrets()
        self._resolver = resolver
        self._resources = AsyncExitStack()

    async def __aenter__(self) -> Self:
        resolver = self._resolver or ThreadResolver()
        self._resources.push_async_callback(resolver.close)
        public_only = {
            "resolver": PublicResolver(resolver),
            "use_dns_cache": False,
            "happy_eyeballs_delay": None,  # connect to one address after the other: a race would hide UnsafeUrl
            "socket_factory": create_public_socket,
        }
        any_address = {"resolver": resolver, "socket_factory": create_socket}
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
        on_progress: MaySend = allow_sending,
        public: bool = False,
    ) -> "StepHttp":
        """Return the client for one step.

        `timeout` is the most time without progress: to connect, to send the next bytes, and to respond after the last
        one. `may_send` returns the reason why nothing may be sent any more. `on_progress` is called while a large body
        moves, and returns the reason to stop; `secrets` appear in no message and no log. With `public` the server must
        have a public address, or one that `allow_private` accepts.
        """
        return StepHttp(self, timeout, visible, Redaction(secrets), may_send, on_progress, public)

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
        on_progress: MaySend,
        public: bool,
    ) -> None:
        self._outbound, self._timeout, self._visible, self._public = outbound, timeout, visible, public
        self._redact, self._may_send, self._on_progress = redact, may_send, on_progress

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
        body: Body | None = None,
        timeout: float | None = None,
        inert: bool = False,
    ) -> Answer:
        """Send a request and return the response, whatever its status. Redirects are returned, not followed."""
        if any(HEADER_CONTROLS.search(value) for value in (headers or {}).values()):
            raise NotSent("Nothing was sent: a credential contains a line break or control character. Enter it again.")
        data = dict(form) if form is not None else None
        content = {"headers": headers, "params": params, "json": json, "data": data}
        outbound, private = self._outbound, self._may_be_private(url)
        self._require_running(url)
        if not private and (problem := self._check_server(url)):
            raise NotSent(f"Nothing was sent: {problem}.")
        visible = self._visible and not inert
        session = outbound.single_use_session(private) if visible else outbound.keep_alive_session(private)
        seconds = timeout if timeout is not None else self._timeout.total_seconds()
        self._learn(url, find_request_secrets(headers or {}))
        try:
            return await self._exchange(session, method, url, MAX_RESPONSE_BYTES, self._watch(seconds), content, body)
        except UnsafeUrl as error:
            raise NotSent(f"Nothing was sent: {error}") from None

    async def fetch(self, url: str, *, most: int) -> Answer:
        """Download at most `most` bytes from a URL a person entered, following redirects.

        Raises UnsafeUrl if the URL or a redirect leads to a private network, DownloadRefused if the file is larger.
        """
        for _ in range(MAX_REDIRECTS + 1):
            if problem := check_url(url, self._outbound.allowed_origins):
                raise UnsafeUrl(f"{self._shorten(url)} cannot be used: {problem}.")
            self._require_running(url)
            allowed = is_allowed_origin(URL(url), self._outbound.allowed_origins)
            session = self._outbound.keep_alive_session(True) if allowed else self._outbound.single_use_session(False)
            try:
                progress = self._watch(self._timeout.total_seconds(), downloads=True)
                headers = {"Accept-Encoding": "identity"}
                if allowed:  # the sandbox answers a foreign request with its media only, and calls none of its networks
                    headers["Sec-Fetch-Site"] = "cross-site"
                content = {"headers": headers, "auto_decompress": False}
                response = await self._exchange(session, "GET", url, most, progress, content)
            except ResponseTooLarge:
                raise DownloadRefused(f"{self._shorten(url)} is larger than the limit of {most:,} bytes.") from None
            if not (_is_redirect(response.status) and "location" in response.headers):
                return response
            url = self._resolve_redirect(url, response.headers["location"])
        raise UnsafeUrl(f"{self._shorten(url)} cannot be used: more than {MAX_REDIRECTS} redirects lead to it.")

    async def _exchange(
        self,
        session: aiohttp.ClientSession,
        method: str,
        url: str,
        max_bytes: int,
        progress: RequestProgress,
        content: Mapping[str, Any],
        body: Body | None = None,
    ) -> Answer:
        if reason := self._describe_send_refusal():
            raise NotSent(reason)
        if body is not None:
            parts = [body] if isinstance(body, bytes) else body
            size = sum(map(len, parts))
            headers = {**(content["headers"] or {}), "Content-Length": str(size)}
            content = {**content, "headers": headers, "data": progress.send_pieces(parts)}
            progress.is_complete = not size
        start = time.monotonic()
        token = current_request.set(progress)
        try:
            async with (
                progress.start(),
                session.request(method, url, **content, timeout=NO_TIMEOUT, allow_redirects=False) as response,
            ):
                progress.status = response.status
                headers = {name.lower(): value for name, value in response.headers.items()}
                if progress.downloads and response.ok:
                    self._require_uncompressed(url, headers)
                received = await _read_body(response, max_bytes, progress)
                if response.ok:
                    self._learn(url, [] if progress.downloads else find_response_secrets(received))
                    return Answer(response.status, headers, received)
                redact = self._redact
                return Answer(response.status, redact.redact_headers(headers), redact.redact_body(received))
        except PostinoError:
            raise
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self._to_error(progress, url, error) from None
        finally:
            current_request.reset(token)
            progress.end()
            milliseconds = round((time.monotonic() - start) * 1000)
            status = str(progress.status or "none")
            log.debug("call", method=method, url=self._shorten(url), status=status, ms=milliseconds)

    def redact(self, text: str) -> str:
        """Replace the secrets that this client knows in a message, such as one from a response that was no error."""
        return self._redact(text)

    def _learn(self, url: str, secrets: Iterable[str]) -> None:
        """Learn new secrets, and those that other steps have learned of this host."""
        host, learned = _parse_host(url), self._outbound.learned
        learned.learn(host, secrets)
        self._redact.add_forms(learned.list_forms(host))

    def _watch(self, seconds: float, *, downloads: bool = False) -> RequestProgress:
        return RequestProgress(self._describe_send_refusal, seconds, downloads, self._on_progress)

    def _may_be_private(self, url: str) -> bool:
        try:
            return not self._public or self._outbound.allow_private(URL(url))
        except ValueError:  # the request itself refuses a string that is not a URL
            return False

    def _check_server(self, url: str) -> str | None:
        try:
            parsed = URL(url)
            return check_host(parsed.raw_host or "") or check_encryption(parsed, (), self._outbound.http_origins)
        except ValueError:  # the request itself refuses a string that is not a URL
            return None

    def _require_running(self, url: str) -> None:
        with suppress(ValueError):  # the request itself refuses a string that is not a URL
            if reason := self._outbound.describe_stopped(URL(url)):
                raise Unreachable(f"Nothing was sent: {reason}.")

    def _require_uncompressed(self, url: str, headers: Mapping[str, str]) -> None:
        """Raise DownloadRefused for a compressed file: a hundred bytes could become a hundred thousand."""
        encoding = headers.get("content-encoding", "").strip().lower()
        if encoding not in ("", "identity"):
            message = f"{self._shorten(url)} is compressed ({encoding[:20]}), although Postino asks for no compression."
            raise DownloadRefused(message)

    def _describe_send_refusal(self) -> str | None:
        reason = self._may_send()
        return reason and self._redact(reason)

    def _to_error(self, progress: RequestProgress, url: str, error: Exception) -> NotSent | LostResponse:
        host, seconds = self._redact(_parse_host(url)), progress.seconds
        timed_out = isinstance(error, TimeoutError)
        if not progress.may_have_left:
            reason = f"no connection within {seconds:g} s" if timed_out else _describe_cause(error)
            # A wrong URL is no failure of a server.
            kind = NotSent if isinstance(error, ValueError) else Unreachable
            return kind(f"Nothing was sent: {host} cannot be reached ({self._redact(reason)}).")
        if not progress.can_have_effect():
            reason = progress.refusal or (
                f"{host} took no data for {seconds:g} s" if timed_out else f"{host} closed the connection"
            )
            # Neither this worker's own refusal nor a server that refuses the request by its status is a failing server.
            kind = Unreachable if progress.refusal is None and progress.status is None else NotSent
            return kind(f"The request was not sent completely, so it had no effect: {self._redact(reason)}.")
        if isinstance(error, aiohttp.ClientResponseError):
            return UnreadableResponse(f"{host} sent a response that is not valid HTTP.")
        if isinstance(error, TooMuchBesideBody):
            return UnreadableResponse(f"{host} sent a response with too much beside its body.")
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


async def _read_body(response: aiohttp.ClientResponse, max_bytes: int, progress: RequestProgress) -> bytes:
    """Return the body. Raises ResponseTooLarge; of an error, and of the redirect of a download, only the beginning."""
    is_whole = response.ok and not (progress.downloads and _is_redirect(response.status))
    too_large = ResponseTooLarge(f"{response.url.raw_host} sent a response of more than {max_bytes:,} bytes.")
    if is_whole and (response.content_length or 0) > max_bytes:
        raise too_large
    body = BytesIO()
    async for chunk in response.content.iter_any():
        progress.body_bytes += body.write(chunk)
        if progress.downloads:
            progress.advance(progress.body_bytes)
        if not is_whole and progress.body_bytes >= MAX_READ_OF_ERROR:
            return body.getvalue()[:MAX_READ_OF_ERROR]
        if progress.body_bytes > max_bytes:
            raise too_large
    return body.getvalue()  # no second copy of a large file


def _is_redirect(status: int) -> bool:
    return 300 <= status < 400


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
