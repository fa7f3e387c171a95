"""Distribute events to listeners. One reader of the outbox serves all; a slow listener delays no other.

`api/events.py` renders them, and sets the heartbeat.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from uuid import UUID
from weakref import WeakSet

import structlog

from postino.errors import StoreError
from postino.publishing.half_time import HalfTime
from postino.stores.store import Store
from postino.values.event import Cursor, Event, get_account

log = structlog.get_logger("postino.streaming")
PAGE_SIZE = 200
POLL_INTERVAL = 0.05  # seconds; only while somebody listens
RETRY_DELAY = 1.0
RECHECK_INTERVAL = 2.0  # seconds until a listener whose key was revoked is disconnected
MAX_UNREAD = 1000
EventFilter = Callable[["StreamedEvent"], "StreamedEvent | None"]
_streams: WeakSet["EventStream"] = WeakSet()


@dataclass(frozen=True, slots=True, eq=False)
class StreamedEvent:
    """An event and the brands of its jobs. Listeners that may see all of it share the same object."""

    event: Event
    brands: Mapping[UUID, str | None] = field(default_factory=dict)


class ListenerTooSlow(Exception):
    """The listener left too many events unread and is disconnected."""


class StreamClosed(Exception):
    """The process stops."""


class AccessEnded(Exception):
    """The listener's key or session is no longer valid, or has changed."""


@dataclass(frozen=True, slots=True)
class Subscriber:
    """Who listens. Listeners with the same identity are checked together."""

    identity: Hashable
    is_still_valid: Callable[[], Awaitable[bool]]


class StreamListener:
    """One connection: the events that pass its filter and that it has not read yet."""

    def __init__(self, accepts: EventFilter, after: Cursor | None, subscriber: Subscriber) -> None:
        self.accepts, self.after, self.subscriber = accepts, after or Cursor(), subscriber
        self.unread: list[StreamedEvent] = []
        self.ended_by: type[Exception] | None = None
        self.waiting: asyncio.Future[None] | None = None

    def offer(self, event: StreamedEvent) -> None:
        if self.ended_by is not None or event.event.cursor <= self.after:
            return
        if (accepted := self.accepts(event)) is None:
            return
        if len(self.unread) == MAX_UNREAD:
            self.end(ListenerTooSlow)
        self.unread.append(accepted)
        self.wake()

    def end(self, reason: type[Exception]) -> None:
        self.ended_by = self.ended_by or reason
        self.wake()

    def wake(self) -> None:
        if self.waiting is not None and not self.waiting.done():
            self.waiting.set_result(None)

    async def next(self, seconds: float) -> Sequence[StreamedEvent]:
        """Return all unread events, or none after this many seconds. Raises the error that ended the stream."""
        if not self.unread and self.ended_by is None:
            self.waiting = asyncio.get_running_loop().create_future()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.waiting
        if self.ended_by is not None:
            raise self.ended_by
        unread, self.unread = self.unread, []
        return unread


class EventStream:
    """Reads the outbox while anybody listens."""

    def __init__(
        self, store: Store, poll_interval: float = POLL_INTERVAL, recheck_interval: float = RECHECK_INTERVAL
    ) -> None:
        self.store = store
        self.poll_interval, self.recheck_interval = poll_interval, recheck_interval
        self.listeners: set[StreamListener] = set()
        self.connected: set[StreamListener] = set()  # listeners, and those that still read what they missed
        self.position: Cursor | None = None
        self.position_lock = asyncio.Lock()
        self.reader: asyncio.Task[None] | None = None
        self.checker: asyncio.Task[None] | None = None
        self.half_time = HalfTime()  # for listeners that read what they missed
        self.closed = False
        _streams.add(self)

    async def listen(
        self, accepts: EventFilter, after: Cursor | None, subscriber: Subscriber, *, heartbeat: float
    ) -> AsyncGenerator[Sequence[StreamedEvent] | Cursor, None]:
        """Yield batches of events from now on or after a cursor; an empty batch is a heartbeat.

        The first value is the cursor where the stream begins, for clients that are disconnected before the first
        event. A cursor ahead of all events, such as one of another database, begins now.
        """
        if self.closed:
            raise StreamClosed
        listener = StreamListener(accepts, after, subscriber)
        self.connect(listener)
        try:
            started_at = await self.get_position()
            if after is not None and after > started_at and after > await self.store.last_event():
                after, listener.after, started_at = None, Cursor(), await self.get_position()
            if after is None:
                self.join(listener)
                yield started_at
            else:
                yield after
                async with aclosing(self.read_missed(after, listener)) as batches:
                    async for batch in batches:
                        yield batch
                self.join(listener)  # no await since the last page: the reader has passed nothing else
            while True:
                yield await listener.next(heartbeat)
        finally:
            self.disconnect(listener)

    async def get_position(self) -> Cursor:
        """Return where the reader is, or where it will begin."""
        async with self.position_lock:
            if self.position is None:
                self.position = await self.store.last_event()
            return self.position

    async def read_missed(
        self, after: Cursor, listener: StreamListener
    ) -> AsyncGenerator[Sequence[StreamedEvent], None]:
        """Yield what happened between a cursor and the position of the reader."""
        while self.position is not None and after < self.position:
            async with self.half_time.turn(listener.subscriber.identity):
                page = await self.store.events(after, PAGE_SIZE)
                streamed = await self.add_brands(page)
            if not page:
                return
            passed = [event for event in streamed if event.event.cursor <= self.position]
            if batch := [accepted for event in passed if (accepted := listener.accepts(event)) is not None]:
                yield batch
            if listener.ended_by is not None:
                raise listener.ended_by
            after = page[-1].cursor

    def connect(self, listener: StreamListener) -> None:
        self.connected.add(listener)
        if self.checker is None:
            self.checker = asyncio.create_task(self.check_access())

    def join(self, listener: StreamListener) -> None:
        self.listeners.add(listener)
        if self.reader is None:
            self.reader = asyncio.create_task(self.read())

    def disconnect(self, listener: StreamListener) -> None:
        self.listeners.discard(listener)
        self.connected.discard(listener)
        if not self.listeners and self.reader is not None:
            self.reader.cancel()
            self.reader = None
        if not self.connected:
            self.position = None
            if self.checker is not None:
                self.checker.cancel()
                self.checker = None

    async def check_access(self) -> None:
        """Disconnect listeners whose key or session is no longer valid."""
        while True:
            await asyncio.sleep(self.recheck_interval)
            for subscriber in {one.subscriber.identity: one.subscriber for one in self.connected}.values():
                if not await self.has_access(subscriber):
                    for listener in [*self.connected]:
                        if listener.subscriber.identity == subscriber.identity:
                            listener.end(AccessEnded)

    async def has_access(self, subscriber: Subscriber) -> bool:
        """Return whether a key or a session is valid, as far as the database says."""
        try:
            return await subscriber.is_still_valid()
        except StoreError:
            return True
        except Exception:
            log.exception("stream.failed", next="the stream of this client ends, and the client connects again")
            return False

    async def read(self) -> None:
        while True:
            try:
                count = await self.read_page()
            except StoreError as error:
                log.info("stream.waiting", error=str(error), next="the stream continues when the database is back")
                await asyncio.sleep(RETRY_DELAY)
                continue
            except Exception:
                log.exception("stream.failed", next=f"Postino reads the events again in {RETRY_DELAY} s")
                await asyncio.sleep(RETRY_DELAY)
                continue
            if count < PAGE_SIZE:
                await asyncio.sleep(self.poll_interval)

    async def read_page(self) -> int:
        assert self.position is not None, "the reader runs only while somebody listens"
        page = await self.store.events(self.position, PAGE_SIZE)
        for event in await self.add_brands(page):
            for listener in list(self.listeners):
                listener.offer(event)
            self.position = event.event.cursor
        return len(page)

    async def add_brands(self, page: Sequence[Event]) -> list[StreamedEvent]:
        ids = {job_id for event in page for job_id in list_job_ids(event)}
        brands = await self.store.brands_by_job(sorted(ids)) if ids else {}
        return [
            StreamedEvent(event, {job: brands[job] for job in list_job_ids(event) if job in brands}) for event in page
        ]

    def close(self) -> None:
        self.closed = True
        for listener in list(self.connected):
            listener.end(StreamClosed)


def close_all() -> None:
    """Disconnect every listener of this process: a server that stops would otherwise wait for them."""
    for stream in list(_streams):
        stream.close()


def list_job_ids(event: Event) -> list[UUID]:
    """Return the ids of the jobs that an event is about."""
    ids = [] if event.job_id is None else [event.job_id]
    for text in event.data.get("jobs", ()):
        with suppress(ValueError):
            ids.append(UUID(str(text)))
    return ids


def limit_to_brands(streamed: StreamedEvent, brands: Iterable[str]) -> StreamedEvent | None:
    """Return the part of an event that concerns these brands; None if there is none."""
    allowed, event = set(brands), streamed.event
    data = event.data
    match data:
        case {"jobs": list()}:
            jobs = [job for job, brand in streamed.brands.items() if brand in allowed]
            visible = {**data, "jobs": [str(job) for job in jobs]}
            return replace(streamed, event=replace(event, data=visible)) if jobs else None
        case _ if event.job_id is not None:
            return streamed if streamed.brands.get(event.job_id) in allowed else None
        case {"scope": "brand", "name": name} | {"scope": "brand", "brand": name}:
            return streamed if name in allowed else None
        case _ if get_account(data) is not None:
            return streamed if data.get("brand") in allowed else None
        case _:
            return None
