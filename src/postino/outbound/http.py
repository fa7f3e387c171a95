"""The only door outwards. It says exactly whether anything left, sends nothing twice, and shows no secrets."""

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
from postino.outbound.connector import Departure, Doorkeeper, MaySend, departing
from postino.outbound.redaction import Redaction
from postino.outbound.ssrf import CheckedResolver, Refused, check_url, checked_socket, is_ours
from postino.values.provider import Answer, Garbled, NoAnswer, NotSent, Unreachable

log = structlog.get_logger("postino.door")

MOST_ANSWER = 10_000_000
MOST_REDIRECTS = 3
# Shorter than any server's patience with an idle connection: one that is closed as we write into it is a lost answer.
KEEP_ALIVE = 2.0
# Films are large: they may take longer than an answer, as long as something keeps coming.
LONGER_TO_FETCH = 3
AGENT = "Postino"


def always() -> str | None:
    """Nothing speaks against it."""
    return None


def nowhere(_: URL) -> bool:
    """Nothing inside may be reached."""
    return False


class Door:
    """Opened once per process, and then for every act.

    Where an address is somebody's word, it leads to the internet; else only media from `allowed` origins, and servers
    where `inside` says.
    """

    def __init__(
        self,
        *,
        allowed: Collection[str] = (),
        inside: Callable[[URL], bool] = nowhere,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self.allowed = allowed
        self.inside = inside
        self._resolver = resolver
        self._sessions = AsyncExitStack()

    async def __aenter__(self) -> Self:
        resolver = self._resolver or DefaultResolver()
        self._sessions.push_async_callback(resolver.close)
        guard = {
            "resolver": CheckedResolver(resolver),
            "use_dns_cache": False,
            "happy_eyeballs_delay": None,  # one address after the other: a race would swallow the refusal
            "socket_factory": checked_socket,
        }
        once, again = {"force_close": True}, {"keepalive_timeout": KEEP_ALIVE}
        self._fresh = await self._session(once | guard), await self._session(once | {"resolver": resolver})
        self._lasting = await self._session(again | guard), await self._session(again | {"resolver": resolver})
        return self

    def fresh(self, inside: bool) -> aiohttp.ClientSession:
        """For a connection that is used once. Unless it may lead inside, that is looked at as it is opened."""
        return self._fresh[inside]

    def lasting(self, inside: bool) -> aiohttp.ClientSession:
        """For connections that wait for the next."""
        return self._lasting[inside]

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._sessions.aclose()

    def open(
        self,
        *,
        timeout: timedelta,
        visible: bool,
        secrets: Collection[str] = (),
        may_send: MaySend = always,
        public: bool = False,
    ) -> "Passage":
        """For one act. `may_send` says why nothing may leave any more; `secrets` are kept out of all that is said.

        With `public` a server is on the internet, or where `inside` says.
        """
        return Passage(self, timeout, visible, Redaction(secrets), may_send, public)

    async def _session(self, connector: Mapping[str, Any]) -> aiohttp.ClientSession:
        session = aiohttp.ClientSession(
            connector=Doorkeeper(limit=0, **connector),
            cookie_jar=aiohttp.DummyCookieJar(),  # what one account is given is not shown for another
            headers={"User-Agent": AGENT},
        )
        return await self._sessions.enter_async_context(session)


class Passage:
    """The door, open for one act: an `Http`. What is visible gets a connection of its own, used once."""

    def __init__(
        self, door: Door, timeout: timedelta, visible: bool, redact: Redaction, may_send: MaySend, public: bool
    ) -> None:
        self._door, self._timeout, self._visible, self._public = door, timeout, visible, public
        self._redact, self._asked = redact, may_send

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
        """Follows no redirect: that is an answer too."""
        if any(set(value) & {"\r", "\n", "\0"} for value in (headers or {}).values()):
            raise NotSent("Nothing was sent: a credential contains a line break. Enter it again.")
        data = dict(form) if form is not None else io.BytesIO(body) if body is not None else None
        sending = {"headers": headers, "params": params, "json": json, "data": data}
        inside = self._may_lead_inside(url)
        session = self._door.fresh(inside) if self._visible else self._door.lasting(inside)
        limit = aiohttp.ClientTimeout(total=timeout if timeout is not None else self._timeout.total_seconds())
        try:
            return await self._exchange(session, method, url, MOST_ANSWER, limit, sending)
        except Refused as refused:
            raise Unreachable(f"Nothing was sent: {refused}") from None

    async def fetch(self, url: str, *, most: int) -> Answer:
        """Raises Refused for an address that leads inside, on the way too, and for more than so many bytes."""
        seconds = self._timeout.total_seconds()
        limit = aiohttp.ClientTimeout(total=seconds * LONGER_TO_FETCH, sock_connect=seconds, sock_read=seconds)
        for _ in range(MOST_REDIRECTS + 1):
            if why := check_url(url, self._door.allowed):
                raise Refused(f"{self._shown(url)} cannot be used: {why}.")
            ours = is_ours(URL(url), self._door.allowed)
            session = self._door.lasting(True) if ours else self._door.fresh(False)
            try:
                answer = await self._exchange(session, "GET", url, most, limit, {})
            except TooLong:
                raise Refused(f"{self._shown(url)} is larger than the {most:,} bytes that can be taken.") from None
            if not (300 <= answer.status < 400 and "location" in answer.headers):
                return answer
            url = self._joined(url, answer.headers["location"])
        raise Refused(f"{self._shown(url)} cannot be used: it is the end of more than {MOST_REDIRECTS} redirects.")

    async def _exchange(
        self,
        session: aiohttp.ClientSession,
        method: str,
        url: str,
        most: int,
        limit: aiohttp.ClientTimeout,
        sending: Mapping[str, Any],
    ) -> Answer:
        if reason := self._may_send():
            raise NotSent(reason)
        departure, began, said = Departure(self._may_send), time.monotonic(), "none"
        token = departing.set(departure)
        try:
            async with session.request(method, url, **sending, timeout=limit, allow_redirects=False) as response:
                said = str(response.status)
                headers = {name.lower(): value for name, value in response.headers.items()}
                body = await _read(response, most)
                return Answer(response.status, headers, body if response.ok else self._redact.answer(body))
        except PostinoError:
            raise
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self._trouble(departure, url, limit.sock_read or limit.total or 0, error) from None
        finally:
            departing.reset(token)
            departure.end()
            passed = round((time.monotonic() - began) * 1000)
            log.debug("call", method=method, url=self._shown(url), status=said, ms=passed)

    def _may_lead_inside(self, url: str) -> bool:
        try:
            return not self._public or self._door.inside(URL(url))
        except ValueError:  # what is no address is refused where it is opened
            return False

    def _may_send(self) -> str | None:
        reason = self._asked()
        return reason and self._redact(reason)

    def _trouble(self, departure: Departure, url: str, seconds: float, error: Exception) -> NotSent | NoAnswer:
        host = self._redact(_host(url))
        late = isinstance(error, TimeoutError)
        if not departure.left:
            why = f"no connection within {seconds:g} s" if late else _why(error)
            return Unreachable(f"Nothing was sent: {host} cannot be reached ({self._redact(why)}).")
        if isinstance(error, aiohttp.ClientResponseError):
            return Garbled(f"{host} answered with something that is no answer of a web server.")
        what = f"did not answer in full within {seconds:g} s" if late else "broke the connection before a full answer"
        return NoAnswer(f"{host} {what}; what was sent may have arrived.")

    def _joined(self, url: str, location: str) -> str:
        try:
            return str(URL(url).join(URL(location)))
        except ValueError:
            raise Refused(f"{self._shown(url)} cannot be used: it redirects to what is not an address.") from None

    def _shown(self, url: str) -> str:
        """Without query and credentials, where secrets travel, and without those that are known."""
        return self._redact(_host(url) if "@" in url else url.partition("?")[0].partition("#")[0])


class TooLong(Garbled):
    """An answer longer than can be taken."""


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes:
    too_long = TooLong(f"{response.url.host} answered with more than {most:,} bytes.")
    if (response.content_length or 0) > most:
        raise too_long
    read = bytearray()
    async for chunk in response.content.iter_any():
        read += chunk
        if len(read) > most:
            raise too_long
    return bytes(read)


def _host(url: str) -> str:
    try:
        return URL(url).host_port_subcomponent or "the address"
    except ValueError:
        return "the address"


def _why(error: Exception) -> str:
    """The cause in the system's words: what a client library prints around it may hold the whole address."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    match cause:
        case ValueError():
            return "it is not an address"
        case OSError(strerror=str(said)) if said:
            return said
        case _:
            return type(cause).__name__
