"""`/v1/events`: Server-Sent Events. A client that reconnects sends the id of the last event it has seen."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from functools import lru_cache
from typing import Annotated, Any

from fastapi import Header
from fastapi.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from postino.api.caller import Caller
from postino.api.concurrency_limits import LimitReached
from postino.api.context import Context, RequestContext
from postino.api.event_stream import (
    AccessEnded,
    EventFilter,
    EventStream,
    ListenerTooSlow,
    StreamClosed,
    StreamedEvent,
    Subscriber,
    limit_to_brands,
)
from postino.api.problems import problem
from postino.api.query import choices_parameter, parse_digits, text_parameter
from postino.api.routes import EVENT_STREAM, Routes
from postino.api.views.fields import to_json
from postino.errors import StoreError, WrongUse
from postino.values.auth import Role
from postino.values.event import Cursor, EventType

routes = Routes("events")
HEARTBEAT = 15.0  # seconds; also in the description below and in docs/api.md
HEARTBEAT_FRAME = ": heartbeat\n\n"
CACHED_FRAMES = 256
SEND_TIMEOUT = 30.0  # seconds
HEADERS = {"X-Accel-Buffering": "no"}
RECONNECT = "Reconnect with Last-Event-ID, and you miss nothing."
TOO_SLOW = f"You read too slowly and were disconnected. {RECONNECT}"
TOO_MANY_STREAMS = "{} has {:,} event streams, which is the maximum. Close one, or raise the setting `api.streams`."
RETRY_AFTER = 10  # seconds
STOPPING = f"This server stops. {RECONNECT}"
UNAVAILABLE = f"The database does not respond. {RECONNECT}"
ACCESS_ENDED = "Your key or session has ended or was changed. Authenticate again."
RESTARTED = (
    "The id is ahead of all events: it belongs to another database, or to one that was restored. The stream begins"
    " now. Use the lists to see what happened before."
)
TYPES = choices_parameter("types", "Only events of these types, separated by commas.", [*EventType])
AFTER = text_parameter("after", "Begin after the event with this id. The header `Last-Event-ID` takes precedence.")
LastEventId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        description="Id of the last event that the client received. Browsers send this header by themselves.",
    ),
]


@routes.add("GET", "/v1/events", role=Role.VIEWER, query=(TYPES, AFTER), responses={200: EVENT_STREAM})
async def stream_events(context: Context, last_event_id: LastEventId = None) -> StreamingResponse:
    """Stream events.

    Sends Server-Sent Events from now on, or after the event with the given id. If the server closes the stream, for
    example because it stops, reconnect with the last id. While there are no events, the stream sends a comment every
    15 seconds, as a heartbeat.
    """
    after = parse_cursor(last_event_id or context.query[AFTER])
    accepts = make_filter(context.caller, frozenset(context.query[TYPES]))
    frames = render_stream(context.services.events, accepts, after, make_subscriber(context))
    return EventResponse(frames, context)


async def render_stream(
    stream: EventStream, accepts: EventFilter, after: Cursor | None, subscriber: Subscriber
) -> AsyncGenerator[str, None]:
    try:
        async with aclosing(stream.listen(accepts, after, subscriber, heartbeat=HEARTBEAT)) as batches:
            async for batch in batches:
                if isinstance(batch, Cursor):
                    yield render_start(batch, after)
                else:
                    yield "".join(map(render_event, batch)) or HEARTBEAT_FRAME
    except ListenerTooSlow:
        yield render_notice("dropped", TOO_SLOW)
    except AccessEnded:
        yield render_notice("closing", ACCESS_ENDED)
    except StreamClosed:
        yield render_notice("closing", STOPPING)
    except StoreError:
        yield render_notice("closing", UNAVAILABLE)


class EventResponse(StreamingResponse):
    """A stream that ends if the client reads nothing for too long."""

    def __init__(self, frames: AsyncGenerator[str, None], context: RequestContext) -> None:
        super().__init__(frames, media_type=EVENT_STREAM, headers=HEADERS)
        self.context = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(SEND_TIMEOUT):
                await send(message)

        assert isinstance(self.body_iterator, AsyncGenerator)
        try:
            with suppress(TimeoutError), self.context.services.streams.enter(self.context.request, self.context.caller):
                await super().__call__(scope, receive, send_in_time)
        except LimitReached as reached:
            detail = TOO_MANY_STREAMS.format(reached.who, reached.most)
            await problem(429, detail, None, {"Retry-After": str(RETRY_AFTER)})(scope, receive, send)
        finally:
            await self.body_iterator.aclose()


def make_filter(caller: Caller, types: frozenset[str]) -> EventFilter:
    def accept(streamed: StreamedEvent) -> StreamedEvent | None:
        if types and streamed.event.type not in types:
            return None
        return streamed if caller.brands is None else limit_to_brands(streamed, caller.brands)

    return accept


def make_subscriber(context: RequestContext) -> Subscriber:
    caller = context.caller
    session = None if caller.session is None else caller.session.session_id
    return Subscriber((caller, session), context.is_still_valid)


def render_start(start: Cursor, after: Cursor | None) -> str:
    """Render an id without an event, for clients that are disconnected before the first event."""
    frame = f": listening\nid: {start.xid}-{start.seq}\n\n"
    return frame if after in (None, start) else frame + render_notice("restarted", RESTARTED)


@lru_cache(CACHED_FRAMES)
def render_event(streamed: StreamedEvent) -> str:
    """Render an event once for all listeners."""
    event = streamed.event
    brands = {brand for brand in (*streamed.brands.values(), event.data.get("brand")) if brand is not None}
    view: dict[str, Any] = {
        "type": event.type,
        "at": to_json(event.at),
        "job_id": to_json(event.job_id),
        "brand": brands.pop() if len(brands) == 1 else None,
        "data": event.data,
    }
    return f"id: {event.cursor.xid}-{event.cursor.seq}\nevent: {event.type}\ndata: {json.dumps(view)}\n\n"


def render_notice(kind: str, message: str) -> str:
    return f"event: {kind}\ndata: {json.dumps({'detail': message})}\n\n"


def parse_cursor(text: str | None) -> Cursor | None:
    if text is None:
        return None
    xid, seq = (parse_digits(part) for part in text.partition("-")[::2])
    if xid is None or seq is None:
        raise WrongUse(f"Last-Event-ID must be the id of an event, such as 0-17, not {text[:40]!r}.", "Last-Event-ID")
    return Cursor(xid, seq)
