"""Events for whoever listens now: one reader of the outbox for all of them, and nobody waits for a slow one."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from uuid import UUID
from weakref import WeakSet

import structlog

from postino.errors import StoreError
from postino.event import Cursor, Event
from postino.store import Store

log = structlog.get_logger("postino.streaming")
TOGETHER = 200
POLL = 0.05  # seconds; only while somebody listens
AGAIN_AFTER = 1.0
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


class Listening:
    """One listener's share: what it wants of the events, until it is too far behind."""

    def __init__(self, wanted: Filter, after: Cursor | None) -> None:
        self.wanted, self.after = wanted, after or Cursor()
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
        """All that it has not heard; nothing if there is nothing for so long. Raises TooSlow or Ended."""
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

    def __init__(self, store: Store, poll: float = POLL) -> None:
        self.store = store
        self.poll = poll
        self.listeners: set[Listening] = set()
        self.present = 0  # listeners, and those who hear first what they missed
        self.position: Cursor | None = None
        self.looking = asyncio.Lock()
        self.reader: asyncio.Task[None] | None = None
        self.closed = False
        _streams.add(self)

    async def listen(
        self, wanted: Filter, after: Cursor | None, *, heartbeat: float
    ) -> AsyncGenerator[Sequence[Told] | Cursor, None]:
        """What happens from now on, or after a cursor, together what comes together; empty where nothing has for long.

        First of all where this begins: whoever is cut off before anything happens can come back to there.
        """
        if self.closed:
            raise Ended
        self.present += 1
        listening = Listening(wanted, after)
        try:
            begun_at = await self.take_place()
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

    def join(self, listening: Listening) -> None:
        self.listeners.add(listening)
        if self.reader is None:
            self.reader = asyncio.create_task(self.read())

    def leave(self, listening: Listening) -> None:
        self.listeners.discard(listening)
        self.present -= 1
        if not self.listeners and self.reader is not None:
            self.reader.cancel()
            self.reader = None
        if not self.present:
            self.position = None

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
        brands = await self.store.brands_of(sorted(ids)) if ids else {}
        return [Told(event, {job: brands[job] for job in jobs_of(event) if job in brands}) for event in page]

    def close(self) -> None:
        self.closed = True
        for listening in list(self.listeners):
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


def only_brands(told: Told, brands: Iterable[str], accounts: Mapping[str, str | None]) -> Told | None:
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
        case {"scope": "account", "name": name} | {"scope": "account", "account": name} | {"account": name}:
            return told if accounts.get(name) in ours else None
        case _:
            return None
