"""The handlers and listeners of an app."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from postino.engine.checks import check_label, check_name, parse_queue
from postino.engine.handlers import Function, Handler, make_handler
from postino.engine.job_spec import make_override
from postino.engine.relay import EventListener
from postino.errors import WrongUse
from postino.rules.retry import Backoff
from postino.values.event import Event, EventType
from postino.values.suggestions import suggest_name

ListenerFunction = Callable[[Event], Awaitable[None]]
F = TypeVar("F", bound=Function)
L = TypeVar("L", bound=ListenerFunction)


class Registry:
    """Handlers by job type, and listeners with distinct names."""

    def __init__(self) -> None:
        self.handlers: dict[str, Handler] = {}
        self.listeners: list[EventListener] = []

    def add_handler(
        self,
        type: str,
        queue: str,
        max_attempts: int | None,
        backoff: Backoff | None,
        time_limit: float | None,
    ) -> Callable[[F], F]:
        """Return a decorator that registers a handler."""

        def register(function: F) -> F:
            if check_label("type", check_name(type, "type")) in self.handlers:
                known = self.handlers[type].function
                raise WrongUse(f"type: {type!r} has a handler already, {known!r}.", field="type")
            override = make_override(max_attempts, backoff, time_limit)
            self.handlers[type] = make_handler(type, function, parse_queue(queue), override)
            return function

        return register

    def add_listener(self, types: Sequence[str], name: str | None, from_start: bool) -> Callable[[L], L]:
        """Return a decorator that registers a listener."""
        for unknown in set(types) - set(EventType):
            raise WrongUse(
                f"on: there is no event {unknown!r}. {suggest_name(unknown, list(EventType))}", field="types"
            )

        def register(function: L) -> L:
            listener = EventListener(
                name or f"{function.__module__}.{function.__qualname__}", frozenset(types), function, from_start
            )
            if listener.name in (other.name for other in self.listeners):
                raise WrongUse(f"name: there is a listener {listener.name!r} already; give each its own.", field="name")
            self.listeners.append(listener)
            return function

        return register
