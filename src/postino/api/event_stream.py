"""Events for whoever listens now: one reader of the outbox for all of them, and nobody waits for a slow one."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from uuid import UUID
from weakref import WeakSet

import structlog

from postino.errors import StoreError
from postino.stores.store import Store
from postino.values.event import Cursor, Event, get_account

log = structlog.get_logger("postino.streaming")
TOGETHER = 200
POLL = 0.05  # seconds; only while somebody listens
AGAIN_AFTER = 1.0
LOOK_AGAIN = 2.0  # seconds until whom nobody would let in again is let go
MOST_UNHEARD = 1000
Filter = Callable[["Told"], "Told | None"]
_streams: WeakSet["Stream"] = WeakSet()


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """An event, and the brands of the jobs it is about. The same one is told to all who may hear it whole."""

    event: Event
    brands: Mapping[UUID, str | None] = field(default_factory=dict)


class TooSlow(Exception):
    """A listener left too much unheard, and was let go."""


class Ended(Exception):
    """The process stops."""


class Gone(Exception):
    """Who listens would not be let in again, or as somebody else."""


@dataclass(frozen=True, slots=True)
class Guest:
    """Who listens. One look at the door is for all who are the same."""

    who: Hashable
    still_let_in: Callable[[], Awaitable[bool]]


class Listening:
    """One listener's share: what it wants of the events, until it is too far behind."""

    def __init__(self, wanted: Filter, after: Cursor | None, guest: Guest) -> None:
        self.wanted, self.after, self.guest = wanted, after or Cursor(), guest
        self.unheard: list[Told] = []
        self.over: type[Exception] | None = None
        self.waiting: asyncio.Future[None] | None = None  # the listener, while there is nothing

    def offer(self, told: Told) -> None:
        if self.over is not None or told.event.cursor <= self.after:
            return
        if (mine := self.wanted(told)) is None:
            return
        if len(self.unheard) == MOST_UNHEARD:
            self.end(TooSlow)
        self.unheard.append(mine)
        self.wake()

    def end(self, why: type[Exception]) -> None:
        self.over = self.over or why
        self.wake()

    def wake(self) -> None:
        if self.waiting is not None and not self.waiting.done():
            self.waiting.set_result(None)

    async def next(self, seconds: float) -> Sequence[Told]:
        """All that it has not heard; nothing if there is nothing for so long. Raises TooSlow, Ended or Gone."""
        if not self.unheard and self.over is None:
            self.waiting = asyncio.get_running_loop().create_future()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.waiting
        if self.over is not None:
            raise self.over
        unheard, self.unheard = self.unheard, []
        return unheard


class Stream:
    """Reads the outbox as long as anybody listens, once for all of them."""

    def __init__(self, store: Store, poll: float = POLL, look_again: float = LOOK_AGAIN) -> None:
        self.store = store
        self.poll, self.look_again = poll, look_again
        self.listeners: set[Listening] = set()
        self.present: set[Listening] = set()  # listeners, and those who hear first what they missed
        self.position: Cursor | None = None
        self.looking = asyncio.Lock()
        self.reader: asyncio.Task[None] | None = None
        self.watcher: asyncio.Task[None] | None = None
        self.closed = False
        _streams.add(self)

    async def listen(
        self, wanted: Filter, after: Cursor | None, guest: Guest, *, heartbeat: float
    ) -> AsyncGenerator[Sequence[Told] | Cursor, None]:
        """What happens from now on, or after a cursor, together what comes together; empty where nothing has for long.

        First of all where this begins: whoever is cut off before anything happens can come back to there. That is now
        where the cursor lies ahead of everything, as one of another database does.
        """
        if self.closed:
            raise Ended
        listening = Listening(wanted, after, guest)
        self.come(listening)
        try:
            begun_at = await self.take_place()
            if after is not None and after > begun_at and after > await self.store.last_event():
                after, listening.after, begun_at = None, Cursor(), await self.take_place()
            if after is None:
                self.join(listening)
                yield begun_at
            else:
                yield after
                async with aclosing(self.missed(after, listening)) as missed:
                    async for some in missed:
                        yield some
                self.join(listening)  # at once: what the reader has passed was in what is missed
            while True:
                yield await listening.next(heartbeat)
        finally:
            self.leave(listening)

    async def take_place(self) -> Cursor:
        """Where the reader is, or begins if it does not read yet."""
        async with self.looking:
            if self.position is None:
                self.position = await self.store.last_event()
            return self.position

    async def missed(self, after: Cursor, listening: Listening) -> AsyncGenerator[Sequence[Told], None]:
        """What happened while it did not listen, up to where the reader is."""
        while self.position is not None and after < self.position:
            page = await self.store.events(after, TOGETHER)
            if not page:
                return
            passed = [told for told in await self.told(page) if told.event.cursor <= self.position]
            if some := [mine for told in passed if (mine := listening.wanted(told)) is not None]:
                yield some
            if listening.over is not None:
                raise listening.over
            after = page[-1].cursor

    def come(self, listening: Listening) -> None:
        self.present.add(listening)
        if self.watcher is None:
            self.watcher = asyncio.create_task(self.watch())

    def join(self, listening: Listening) -> None:
        self.listeners.add(listening)
        if self.reader is None:
            self.reader = asyncio.create_task(self.read())

    def leave(self, listening: Listening) -> None:
        self.listeners.discard(listening)
        self.present.discard(listening)
        if not self.listeners and self.reader is not None:
            self.reader.cancel()
            self.reader = None
        if not self.present:
            self.position = None
            if self.watcher is not None:
                self.watcher.cancel()
                self.watcher = None

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(self.look_again)
            for guest in {listening.guest.who: listening.guest for listening in self.present}.values():
                with suppress(StoreError):
                    if not await guest.still_let_in():
                        for listening in [one for one in self.present if one.guest.who == guest.who]:
                            listening.end(Gone)

    async def read(self) -> None:
        while True:
            try:
                found = await self.pass_on()
            except StoreError as error:
                log.info("stream.waiting", error=str(error), next="listeners hear the rest when it is back")
                await asyncio.sleep(AGAIN_AFTER)
                continue
            if found < TOGETHER:
                await asyncio.sleep(self.poll)

    async def pass_on(self) -> int:
        assert self.position is not None, "it reads as long as somebody listens"
        page = await self.store.events(self.position, TOGETHER)
        for told in await self.told(page):
            for listening in list(self.listeners):
                listening.offer(told)
            self.position = told.event.cursor
        return len(page)

    async def told(self, page: Sequence[Event]) -> list[Told]:
        ids = {job_id for event in page for job_id in jobs_of(event)}
        brands = await self.store.brands_by_job(sorted(ids)) if ids else {}
        return [Told(event, {job: brands[job] for job in jobs_of(event) if job in brands}) for event in page]

    def close(self) -> None:
        self.closed = True
        for listening in list(self.present):
            listening.end(Ended)


def close_all() -> None:
    """Lets every listener of this process go: whoever stops would else wait for them."""
    for stream in list(_streams):
        stream.close()


def jobs_of(event: Event) -> list[UUID]:
    """Those it is about."""
    named = [] if event.job_id is None else [event.job_id]
    for text in event.data.get("jobs", ()):
        with suppress(ValueError):
            named.append(UUID(str(text)))
    return named


def only_brands(told: Told, brands: Iterable[str]) -> Told | None:
    """What of it is about these brands; None: nothing."""
    ours, event = set(brands), told.event
    data = event.data
    match data:
        case {"jobs": list()}:
            mine = [job for job, brand in told.brands.items() if brand in ours]
            shown = {**data, "jobs": [str(job) for job in mine]}
            return replace(told, event=replace(event, data=shown)) if mine else None
        case _ if event.job_id is not None:
            return told if told.brands.get(event.job_id) in ours else None
        case {"scope": "brand", "name": name} | {"scope": "brand", "brand": name}:
            return told if name in ours else None
        case _ if get_account(data) is not None:
            return told if data.get("brand") in ours else None
        case _:
            return None
