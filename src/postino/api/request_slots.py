"""Middleware: each caller has a number of requests in progress, and further ones wait for their turn.

Else whoever sends a thousand expensive requests at once, or reads no response, would make the requests of all others
wait, and fill the memory.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fastapi import HTTPException, Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postino.api.authentication import Authenticator
from postino.api.caller import CALLER, Caller
from postino.api.rate_limits import PAYER, UNLIMITED
from postino.api.routes import EVENT_STREAM, SAFE_METHODS
from postino.errors import PostinoError

MAX_CHANGES = 64  # requests in progress that may change something: many of them share a transaction
MAX_READS = 16  # requests in progress that only read: more would be no faster


@dataclass(slots=True)
class CallerSlots:
    """The slots of one caller for reads or for changes, and how many requests have one or wait for one."""

    free: asyncio.Semaphore
    requests: int = 0


class RequestSlots:
    """A request has a slot until its response is sent; an event stream until it starts: it has a limit of its own."""

    def __init__(self, app: ASGIApp, *, authenticator: Authenticator) -> None:
        self.app, self.authenticator = app, authenticator
        self.slots: dict[tuple[str, bool], CallerSlots] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        payer = scope.get(PAYER)
        if payer is None and (caller := await self.find_caller(scope)) is not None:
            scope, payer = {**scope, CALLER: caller}, caller.key
        if payer is None:  # strangers: the routes that they may use are cheap
            await self.app(scope, receive, send)
            return
        with self.count(payer, scope["method"] in SAFE_METHODS) as slots:
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

    async def find_caller(self, scope: Scope) -> Caller | None:
        """Return who sends a request; None if that is nobody, which the route itself reports."""
        if scope["type"] != "http" or scope["path"].startswith(UNLIMITED):
            return None
        request = Request(scope)
        if not {"authorization", "cookie"} & {*request.headers}:
            return None
        try:
            return await self.authenticator.authenticate(request)
        except (HTTPException, PostinoError):
            return None

    @contextmanager
    def count(self, payer: str, is_read: bool) -> Iterator[CallerSlots]:
        """Return the slots of a caller. They are forgotten with the caller's last request."""
        slots = self.slots.get((payer, is_read))
        if slots is None:
            slots = self.slots[payer, is_read] = CallerSlots(asyncio.Semaphore(MAX_READS if is_read else MAX_CHANGES))
        slots.requests += 1
        try:
            yield slots
        finally:
            slots.requests -= 1
            if not slots.requests:
                del self.slots[payer, is_read]


def is_stream_start(message: Message) -> bool:
    """Tell whether an event stream begins."""
    if message["type"] != "http.response.start":
        return False
    return Headers(raw=message["headers"]).get("content-type", "").startswith(EVENT_STREAM)
