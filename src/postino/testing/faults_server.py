"""The server of a network in a run with faults: a model that its user writes, and the faults around it."""

import asyncio
import base64
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from postino.testing.simulation.http import SentRequest
from postino.testing.simulation.narration import shorten_path
from postino.values.provider import Answer

SERVER_URL = "https://network.test"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
FAULTS_OF_A_CALL = ("drop", "process_then_drop", "process_then_500", "rate_limited", "slow", "timeout", "html")
BEFORE_PROCESSING = ("drop", "rate_limited", "html")


class SimulatedServer(Protocol):
    """Your model of a network's server. Each run makes a new one."""

    def respond(self, request: SentRequest) -> Answer:
        """Process a request as the network does, and return its response."""
        ...

    def list_posts(self) -> Iterable[str]:
        """Return the texts of all posts that people see."""
        ...


class EmptyServer:
    """The server of handlers that call no network."""

    def respond(self, request: SentRequest) -> Answer:
        return Answer(404, {}, b"")

    def list_posts(self) -> Iterable[str]:
        return ()


class FaultyServer:
    """Lets a model respond, and loses, delays or replaces requests and responses."""

    def __init__(
        self,
        model: SimulatedServer,
        chance: random.Random,
        rates: Mapping[str, float],
        on_published: Callable[[str], None],
        tell: Callable[[str], None],
    ) -> None:
        self.model = model
        self.chance = chance
        self.rates = rates
        self.on_published = on_published
        self.tell = tell
        self.under_way: list[SentRequest] = []
        self.posts: Counter[str] = Counter(model.list_posts())

    def expect(self, request: SentRequest) -> None:
        self.under_way.append(request)

    async def respond(self, request: SentRequest) -> Answer | None:
        """Return the response, or None for a connection that closes without one."""
        fault = self.draw_fault()
        if fault is not None:
            self.tell(f"the network has the fault {fault} at {request.method} {shorten_path(request.path)}")
        if fault == "slow":
            await asyncio.sleep(self.chance.choice((0.5, 2.0, 8.0)))
        is_processed = fault not in BEFORE_PROCESSING and (fault != "timeout" or self.chance.random() < 0.5)
        answer = self.process(request) if is_processed else None
        self.under_way.remove(request)
        match fault:
            case "drop" | "process_then_drop":
                return None
            case "timeout":
                await asyncio.sleep(600)
                return None
            case "process_then_500":
                return Answer(500, {"content-type": "text/plain"}, b"Internal Server Error")
            case "rate_limited":
                seconds = str(self.chance.choice((1, 5, 20)))
                return Answer(429, {"content-type": "text/plain", "retry-after": seconds}, b"Too Many Requests")
            case "html":
                return Answer(502, {"content-type": "text/html"}, b"<html>Bad Gateway</html>")
            case _:
                return answer

    def draw_fault(self) -> str | None:
        hits = [name for name in FAULTS_OF_A_CALL if self.chance.random() < self.rates.get(name, 0.0)]
        return hits[0] if hits else None

    def process(self, request: SentRequest) -> Answer:
        answer = self.model.respond(request)
        posts = Counter(self.model.list_posts())
        for text in (posts - self.posts).elements():
            self.on_published(text)
        self.posts = posts
        return answer

    def read_file(self, url: str) -> Answer:
        return Answer(200, {"content-type": "image/png"}, PIXEL)
