"""The HTTP client of a simulated process. It distinguishes what the real client distinguishes: whether a request was
sent completely, and whether a response came back.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol
from urllib.parse import urlsplit

from postino.testing.simulation.loop import SimulationLoop
from postino.values.provider import Answer, Body, LostResponse, NotSent, Unreachable, UnreadableResponse

LATENCIES = (0.0, 0.01, 0.1, 0.3)
SERVER = "network"  # the process in which all simulated servers run


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequest:
    """A request as it leaves a process."""

    method: str
    url: str
    headers: Mapping[str, str]
    params: Mapping[str, str] | None
    json: Any
    form: Mapping[str, str] | None
    body: bytes | None
    visible: bool

    @property
    def path(self) -> str:
        """The path of its URL."""
        return urlsplit(self.url).path


class Server(Protocol):
    """Responds to requests. None closes the connection without a response."""

    def expect(self, request: SentRequest) -> None:
        """Note that a request has left a process, and will arrive."""
        ...

    async def respond(self, request: SentRequest) -> Answer | None: ...

    def read_file(self, url: str) -> Answer:
        """Return the file at a URL that a person gave."""
        ...


class SimulatedHttpFactory:
    """Makes the HTTP clients of one process. `rates` has the probability of each fault."""

    def __init__(self, server: Server, chance: random.Random, rates: Mapping[str, float]) -> None:
        self.server = server
        self.chance = chance
        self.rates = rates

    @asynccontextmanager
    async def connect(self) -> AsyncIterator["SimulatedHttpFactory"]:
        yield self

    def open(
        self,
        *,
        timeout: timedelta,
        may_send: Callable[[], str | None],
        on_progress: Callable[[], str | None] = lambda: None,
        visible: bool,
        secrets: Any,
        public: bool,
    ) -> "SimulatedHttp":
        return SimulatedHttp(self, timeout.total_seconds(), may_send, visible)

    def is_hit(self, fault: str) -> bool:
        return self.chance.random() < self.rates.get(fault, 0.0)


class SimulatedHttp:
    """The client of one step."""

    def __init__(
        self, factory: SimulatedHttpFactory, seconds: float, may_send: Callable[[], str | None], visible: bool
    ) -> None:
        self.factory = factory
        self.seconds = seconds
        self.may_send = may_send
        self.visible = visible

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
        """Send a request and return the response. Raises NotSent or LostResponse."""
        factory, chance = self.factory, self.factory.chance
        self.check_may_send()
        await asyncio.sleep(chance.choice(LATENCIES))  # connects
        if factory.is_hit("unreachable"):
            raise Unreachable("Nothing was sent: the simulated network cannot be reached.")
        self.check_may_send()
        if factory.is_hit("half_sent"):
            raise Unreachable("The request was not sent completely, so it had no effect.")
        visible = self.visible and not inert and method != "GET"
        request = SentRequest(
            method=method, url=url, headers=headers or {}, params=params, json=json, form=form,
            body=body if body is None or isinstance(body, bytes) else b"".join(body),
            visible=visible,
        )  # fmt: skip
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulationLoop)
        response: asyncio.Future[Answer | None] = loop.create_future()
        factory.server.expect(request)
        # A server finishes a request although its client is killed, frozen or tired of waiting.
        _ = loop.spawn(SERVER, deliver(factory.server, request, response, chance))
        try:
            async with asyncio.timeout(timeout if timeout is not None else self.seconds):
                answer = await asyncio.shield(response)
        except TimeoutError:
            raise LostResponse("The simulated network sent no response. The request may have arrived.") from None
        if answer is None:
            raise LostResponse("The connection closed before a response. The request may have arrived.")
        if factory.is_hit("truncated"):
            raise UnreadableResponse("The simulated network sent half of a response.")
        return answer

    def check_may_send(self) -> None:
        if reason := self.may_send():
            raise NotSent(reason)

    async def fetch(self, url: str, *, most: int) -> Answer:
        await asyncio.sleep(self.factory.chance.choice(LATENCIES))
        if self.factory.is_hit("unreachable"):
            raise Unreachable("Nothing was sent: the simulated media server cannot be reached.")
        return self.factory.server.read_file(url)

    def redact(self, text: str) -> str:
        return text


async def deliver(
    server: Server, request: SentRequest, response: asyncio.Future[Answer | None], chance: random.Random
) -> None:
    """Bring the request to the server and its response back."""
    await asyncio.sleep(chance.choice(LATENCIES))
    answer = await server.respond(request)
    await asyncio.sleep(chance.choice(LATENCIES))
    if not response.done():
        response.set_result(answer)
