"""`/v1/events`: what happens, as it happens, by Server-Sent Events. Whoever comes back says how far it had heard."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from postino.api.caller import Caller, caller_of, still_of
from postino.api.event_stream import Ended, Filter, Gone, Guest, Stream, Told, TooSlow, only_brands
from postino.api.problems import nearest
from postino.api.query import query_of
from postino.api.views.fields import to_json
from postino.errors import StoreError, WrongUse
from postino.values.event import Cursor, EventType
from postino.wiring import Postino

HEARTBEAT = 15.0
NOTHING = ": nothing new\n\n"
MOST_FRAMED = 256  # that are kept for those who are a little slower
TAKEN_WITHIN = 30.0  # seconds
CURSOR = re.compile(r"(\d{1,19})-(\d{1,19})", re.ASCII)
LAST = 2**63
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
SLOW = "You were too slow and were let go. Come back with Last-Event-ID, and nothing is missing."
STOPPING = "Postino stops here. Come back with Last-Event-ID, and nothing is missing."
LET_IN_NO_MORE = "Your key or your session has ended, or was changed: you hear no more like this. Sign in again."
AHEAD = (
    "Nothing that far has happened here: that id is of another database, or of one that was restored. From now on you"
    " hear what happens; of what happened before, the lists tell."
)
AWAY = "The database does not answer. Come back with Last-Event-ID, and nothing is missing."


def routes(app: Postino) -> APIRouter:
    router = APIRouter(tags=["events"])
    stream = Stream(app.store)

    @router.get("/v1/events", response_class=Response)
    async def listen(request: Request) -> StreamingResponse:
        """Server-Sent Events from now on, or after `Last-Event-ID` or `after`; only some `types`, if they are given."""
        query = query_of(request, "types", "after")
        after = cursor_from(request.headers.get("last-event-id") or query.get("after"))
        wanted = filter_for(caller_of(request), types_of(query.get("types")))
        return Events(told(wanted, after, guest_of(request)), media_type="text/event-stream", headers=HEADERS)

    async def told(wanted: Filter, after: Cursor | None, guest: Guest) -> AsyncGenerator[str, None]:
        try:
            async with aclosing(stream.listen(wanted, after, guest, heartbeat=HEARTBEAT)) as events:
                async for heard in events:
                    if isinstance(heard, Cursor):
                        yield beginning(heard, after)
                    else:
                        yield "".join(map(framed, heard)) or NOTHING
        except TooSlow:
            yield farewell("dropped", SLOW)
        except Gone:
            yield farewell("closing", LET_IN_NO_MORE)
        except Ended:
            yield farewell("closing", STOPPING)
        except StoreError:
            yield farewell("closing", AWAY)

    return router


class Events(StreamingResponse):
    """Ends with its listener: one that takes nothing in for too long is left alone."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            async with asyncio.timeout(TAKEN_WITHIN):
                await send(message)

        assert isinstance(self.body_iterator, AsyncGenerator)
        try:
            with suppress(TimeoutError):
                await super().__call__(scope, receive, sending)
        finally:
            await self.body_iterator.aclose()


def filter_for(caller: Caller, types: frozenset[str]) -> Filter:
    def wanted(told: Told) -> Told | None:
        if types and told.event.type not in types:
            return None
        return told if caller.brands is None else only_brands(told, caller.brands)

    return wanted


def guest_of(request: Request) -> Guest:
    caller = caller_of(request)
    session = None if caller.signed_in is None else caller.signed_in.session_id
    return Guest((caller, session), still_of(request))


def beginning(place: Cursor, after: Cursor | None) -> str:
    """A place without an event is for whoever is cut off before the first one; one that lies ahead is no place."""
    said = f": listening\nid: {place.xid}-{place.seq}\n\n"
    return said if after in (None, place) else said + farewell("anew", AHEAD)


@lru_cache(MOST_FRAMED)
def framed(told: Told) -> str:
    """Once for all who hear it."""
    event = told.event
    brands = {brand for brand in (*told.brands.values(), event.data.get("brand")) if brand is not None}
    said: dict[str, Any] = {
        "type": event.type,
        "at": to_json(event.at),
        "job_id": to_json(event.job_id),
        "brand": brands.pop() if len(brands) == 1 else None,
        "data": event.data,
    }
    return f"id: {event.cursor.xid}-{event.cursor.seq}\nevent: {event.type}\ndata: {json.dumps(said)}\n\n"


def farewell(kind: str, words: str) -> str:
    return f"event: {kind}\ndata: {json.dumps({'detail': words})}\n\n"


def cursor_from(text: str | None) -> Cursor | None:
    if text is None:
        return None
    said = CURSOR.fullmatch(text)
    if said is None or max(int(said[1]), int(said[2])) >= LAST:
        raise WrongUse(f"Last-Event-ID must be the id of an event, such as 0-17, not {text[:40]!r}.", "Last-Event-ID")
    return Cursor(int(said[1]), int(said[2]))


def types_of(text: str | None) -> frozenset[str]:
    names = frozenset() if text is None else frozenset(text.split(","))
    for name in names:
        if name not in list(EventType):
            raise WrongUse(f"types: there is no event {name[:40]!r}.{nearest(name, [*EventType])}", "types")
    return names
