"""Turn one method that builds a request into a blocking and an async API call.

A method marked `@call`, `@paginate` or `@stream` returns an `ApiRequest`. Accessed on a resource, it becomes a
callable that sends that request: it returns the response on a `Client` and an awaitable on an `AsyncClient`.
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

from postino.client.errors import parse_response
from postino.client.messages import ApiRequest
from postino.client.retry import RetryOptions, retry_delay
from postino.client.sse import EventReader
from postino.client.transport import Transport
from postino.client.types.events import EventView
from postino.client.types.schema import Page

if TYPE_CHECKING:
    from postino.client.async_transport import AsyncHttpTransport

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class HttpSession:
    """Sends requests with retries and returns parsed responses."""

    transport: Transport
    retry: RetryOptions
    jitter: Callable[[], float] = field(default=random.random, repr=False)
    sleep: Callable[[float], object] = field(default=time.sleep, repr=False)

    def request(self, request: ApiRequest[T]) -> T:
        attempt = 0
        while True:
            response, attempt = self.transport.send(request), attempt + 1
            delay = retry_delay(request, response, attempt, self.retry, self.jitter(), datetime.now(UTC))
            if delay is None:
                body: T = parse_response(request, response, self.transport.server.url, self.transport.server.key)
                return body
            self.sleep(delay.total_seconds())

    def paginate(self, request: ApiRequest[Page[T]]) -> Generator[T, None, None]:
        following: ApiRequest[Page[T]] | None = request
        while following is not None:
            page = self.request(following)
            yield from page["data"]
            following = next_page(following, page["next_cursor"])

    def stream(self, request: ApiRequest[EventView]) -> Generator[EventView, None, None]:
        reader = EventReader(request)
        while True:
            with closing(self.transport.stream(reader.request)) as chunks:
                for chunk in chunks:
                    yield from reader.read(chunk)
            delay = reader.retry_delay(self.retry, self.jitter(), datetime.now(UTC))
            if delay is None:
                parse_response(request, reader.ended, self.transport.server.url, self.transport.server.key)
                return
            self.sleep(delay.total_seconds())


@dataclass
class AsyncHttpSession:
    """The same as `HttpSession`, for asyncio."""

    transport: AsyncHttpTransport
    retry: RetryOptions
    jitter: Callable[[], float] = field(default=random.random, repr=False)
    sleep: Callable[[float], Awaitable[object]] = field(default=asyncio.sleep, repr=False)

    async def request(self, request: ApiRequest[T]) -> T:
        attempt = 0
        while True:
            response, attempt = await self.transport.send(request), attempt + 1
            delay = retry_delay(request, response, attempt, self.retry, self.jitter(), datetime.now(UTC))
            if delay is None:
                body: T = parse_response(request, response, self.transport.server.url, self.transport.server.key)
                return body
            await self.sleep(delay.total_seconds())

    async def paginate(self, request: ApiRequest[Page[T]]) -> AsyncGenerator[T, None]:
        following: ApiRequest[Page[T]] | None = request
        while following is not None:
            page = await self.request(following)
            for item in page["data"]:
                yield item
            following = next_page(following, page["next_cursor"])

    async def stream(self, request: ApiRequest[EventView]) -> AsyncGenerator[EventView, None]:
        reader = EventReader(request)
        while True:
            async with aclosing(self.transport.stream(reader.request)) as chunks:
                async for chunk in chunks:
                    for event in reader.read(chunk):
                        yield event
            delay = reader.retry_delay(self.retry, self.jitter(), datetime.now(UTC))
            if delay is None:
                parse_response(request, reader.ended, self.transport.server.url, self.transport.server.key)
                return
            await self.sleep(delay.total_seconds())


def next_page(request: ApiRequest[T], cursor: str | None) -> ApiRequest[T] | None:
    return None if cursor is None else replace(request, query={**request.query, "cursor": cursor})


SessionT = TypeVar("SessionT", bound=HttpSession | AsyncHttpSession)


class Resource(Generic[SessionT]):
    """The API methods of one kind of object."""

    def __init__(self, session: SessionT) -> None:
        self.session = session


class EndpointMethod(Generic[P, T]):
    """A method that builds a request; the session of its resource sends it."""

    send_with = "request"  # the method of the session

    def __init__(self, build: Callable[Concatenate[Any, P], ApiRequest[T]]) -> None:
        self.build = build
        update_wrapper(self, build)

    def __call__(self, resource: Any, *args: Any, **named: Any) -> Any:
        """Support the unbound form: `Client.calendar(client, …)`."""
        return self.bind(resource)(*args, **named)

    def bind(self, resource: Any) -> Any:
        if resource is None:
            return self
        send, build = getattr(resource.session, self.send_with), MethodType(self.build, resource)

        @wraps(build)
        def endpoint(*args: Any, **named: Any) -> Any:
            return send(build(*args, **named))

        return endpoint


class call(EndpointMethod[P, T]):  # noqa: N801 (a decorator, like property)
    """One request, one response."""

    @overload
    def __get__(self, resource: None, owner: Any) -> call[P, T]: ...
    @overload
    def __get__(self, resource: Resource[HttpSession], owner: Any) -> Callable[P, T]: ...
    @overload
    def __get__(self, resource: Resource[AsyncHttpSession], owner: Any) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, resource: Any, owner: Any) -> Any:
        return self.bind(resource)


class paginate(EndpointMethod[P, Page[T]], Generic[P, T]):  # noqa: N801
    """Every item of a list; pages are requested as they are needed."""

    send_with = "paginate"

    @overload
    def __get__(self, resource: None, owner: Any) -> paginate[P, T]: ...
    @overload
    def __get__(self, resource: Resource[HttpSession], owner: Any) -> Callable[P, Generator[T, None, None]]: ...
    @overload
    def __get__(self, resource: Resource[AsyncHttpSession], owner: Any) -> Callable[P, AsyncGenerator[T, None]]: ...
    def __get__(self, resource: Any, owner: Any) -> Any:
        return self.bind(resource)


class stream(EndpointMethod[P, T]):  # noqa: N801
    """Events as they happen, until the caller stops iterating."""

    send_with = "stream"

    @overload
    def __get__(self, resource: None, owner: Any) -> stream[P, T]: ...
    @overload
    def __get__(self, resource: Resource[HttpSession], owner: Any) -> Callable[P, Generator[T, None, None]]: ...
    @overload
    def __get__(self, resource: Resource[AsyncHttpSession], owner: Any) -> Callable[P, AsyncGenerator[T, None]]: ...
    def __get__(self, resource: Any, owner: Any) -> Any:
        return self.bind(resource)
