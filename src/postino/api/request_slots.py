"""Middleware: each caller has a number of requests in progress, and further ones wait for their turn.

Else whoever sends a thousand expensive requests at once, or reads no response, would make the requests of all others
wait, and fill the memory.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postino.api.routes import EVENT_STREAM

PAYER = "postino.payer"  # key in the scope of the caller whose rate limit counts the request
MAX_IN_PROGRESS = 64  # requests; more than the connections that client libraries keep


@dataclass(slots=True)
class Slots:
    """The slots of one caller, and how many requests have one or wait for one."""

    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_IN_PROGRESS))
    requests: int = 0


class RequestSlots:
    """A request has a slot until its response is sent; an event stream until it starts: it has a limit of its own."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.slots: dict[str, Slots] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        payer: str | None = scope.get(PAYER)
        if payer is None:
            await self.app(scope, receive, send)
            return
        with self.count(payer) as slots:
            await slots.free.acquire()
            has_slot = True

            async def send_and_release(message: Message) -> None:
                nonlocal has_slot
                if has_slot and is_stream_start(message):
                    has_slot = False
                    slots.free.release()
                await send(message)

            try:
                await self.app(scope, receive, send_and_release)
            finally:
                if has_slot:
                    slots.free.release()

    @contextmanager
    def count(self, payer: str) -> Iterator[Slots]:
        """Return the slots of a caller. They are forgotten with the caller's last request."""
        slots = self.slots.setdefault(payer, Slots())
        slots.requests += 1
        try:
            yield slots
        finally:
            slots.requests -= 1
            if not slots.requests:
                del self.slots[payer]


def is_stream_start(message: Message) -> bool:
    """Tell whether an event stream begins."""
    if message["type"] != "http.response.start":
        return False
    return Headers(raw=message["headers"]).get("content-type", "").startswith(EVENT_STREAM)
