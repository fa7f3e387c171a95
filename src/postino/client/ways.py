"""One description of a request, two ways to make it: called on a `Room` of a blocking talker it answers, of the other
it answers to `await`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from contextlib import aclosing, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import update_wrapper, wraps
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from postino.client.hearing import Hearing
from postino.client.job_shapes import Event
from postino.client.messages import Request
from postino.client.refusals import value_of
from postino.client.retrying import Patience, pause
from postino.client.transports import Transport
from postino.client.words import Page

if TYPE_CHECKING:
    from postino.client.meanwhile import Meanwhile

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class Talker:
    way: Transport
    patience: Patience
    jitter: Callable[[], float] = field(default=random.random, repr=False)
    sleep: Callable[[float], object] = field(default=time.sleep, repr=False)

    def ask(self, request: Request[T]) -> T:
        tried = 0
        while True:
            said, tried = self.way.send(request), tried + 1
            wait = pause(request, said, tried, self.patience, self.jitter(), datetime.now(UTC))
            if wait is None:
                answer: T = value_of(request, said, self.way.server.url, self.way.server.key)
                return answer
            self.sleep(wait.total_seconds())

    def each(self, request: Request[Page[T]]) -> Generator[T, None, None]:
        going: Request[Page[T]] | None = request
        while going is not None:
            page = self.ask(going)
            yield from page["data"]
            going = next_page(going, page["next_cursor"])

    def listen(self, request: Request[Event]) -> Generator[Event, None, None]:
        hearing = Hearing(request)
        while True:
            with closing(self.way.stream(hearing.request)) as stream:
                for said in stream:
                    yield from hearing.hear(said)
            wait = hearing.pause(self.patience, self.jitter(), datetime.now(UTC))
            if wait is None:
                value_of(request, hearing.ended, self.way.server.url, self.way.server.key)
                return
            self.sleep(wait.total_seconds())


@dataclass
class AsyncTalker:
    way: Meanwhile
    patience: Patience
    jitter: Callable[[], float] = field(default=random.random, repr=False)
    sleep: Callable[[float], Awaitable[object]] = field(default=asyncio.sleep, repr=False)

    async def ask(self, request: Request[T]) -> T:
        tried = 0
        while True:
            said, tried = await self.way.send(request), tried + 1
            wait = pause(request, said, tried, self.patience, self.jitter(), datetime.now(UTC))
            if wait is None:
                answer: T = value_of(request, said, self.way.server.url, self.way.server.key)
                return answer
            await self.sleep(wait.total_seconds())

    async def each(self, request: Request[Page[T]]) -> AsyncGenerator[T, None]:
        going: Request[Page[T]] | None = request
        while going is not None:
            page = await self.ask(going)
            for one in page["data"]:
                yield one
            going = next_page(going, page["next_cursor"])

    async def listen(self, request: Request[Event]) -> AsyncGenerator[Event, None]:
        hearing = Hearing(request)
        while True:
            async with aclosing(self.way.stream(hearing.request)) as stream:
                async for said in stream:
                    for event in hearing.hear(said):
                        yield event
            wait = hearing.pause(self.patience, self.jitter(), datetime.now(UTC))
            if wait is None:
                value_of(request, hearing.ended, self.way.server.url, self.way.server.key)
                return
            await self.sleep(wait.total_seconds())


def next_page(request: Request[T], cursor: str | None) -> Request[T] | None:
    return None if cursor is None else replace(request, query={**request.query, "cursor": cursor})


Way = TypeVar("Way", bound=Talker | AsyncTalker)


class Room(Generic[Way]):
    """Requests about one kind of thing."""

    def __init__(self, talker: Way) -> None:
        self.talker = talker


class Described(Generic[P, T]):
    """A method that describes a request; whoever has a talker can make it."""

    verb = "ask"

    def __init__(self, plan: Callable[Concatenate[Any, P], Request[T]]) -> None:
        self.plan = plan
        update_wrapper(self, plan)

    def __call__(self, room: Any, *args: Any, **named: Any) -> Any:
        """Of a class instead of one of its clients: `Client.calendar(client, …)`."""
        return self.bound(room)(*args, **named)

    def bound(self, room: Any) -> Any:
        if room is None:
            return self
        make, plan = getattr(room.talker, self.verb), MethodType(self.plan, room)

        @wraps(plan)
        def call(*args: Any, **named: Any) -> Any:
            return make(plan(*args, **named))

        return call


class asks(Described[P, T]):  # noqa: N801 (a decorator, like property)
    """One request, one answer."""

    @overload
    def __get__(self, room: None, kind: Any) -> asks[P, T]: ...
    @overload
    def __get__(self, room: Room[Talker], kind: Any) -> Callable[P, T]: ...
    @overload
    def __get__(self, room: Room[AsyncTalker], kind: Any) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, room: Any, kind: Any) -> Any:
        return self.bound(room)


class walks(Described[P, Page[T]], Generic[P, T]):  # noqa: N801
    """Everything in a list, page by page as it is taken."""

    verb = "each"

    @overload
    def __get__(self, room: None, kind: Any) -> walks[P, T]: ...
    @overload
    def __get__(self, room: Room[Talker], kind: Any) -> Callable[P, Generator[T, None, None]]: ...
    @overload
    def __get__(self, room: Room[AsyncTalker], kind: Any) -> Callable[P, AsyncGenerator[T, None]]: ...
    def __get__(self, room: Any, kind: Any) -> Any:
        return self.bound(room)


class hears(Described[P, T]):  # noqa: N801
    """What happens, for as long as it is listened to."""

    verb = "listen"

    @overload
    def __get__(self, room: None, kind: Any) -> hears[P, T]: ...
    @overload
    def __get__(self, room: Room[Talker], kind: Any) -> Callable[P, Generator[T, None, None]]: ...
    @overload
    def __get__(self, room: Room[AsyncTalker], kind: Any) -> Callable[P, AsyncGenerator[T, None]]: ...
    def __get__(self, room: Any, kind: Any) -> Any:
        return self.bound(room)
