"""Runs plain functions in threads, one thread each: a function that never returns blocks no other."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any

import structlog

log = structlog.get_logger("postino.worker")


class Threads:
    def __init__(self) -> None:
        self.abandoned: set[threading.Thread] = set()

    def count_abandoned(self) -> int:
        """Return how many functions still run although no job waits for them."""
        self.abandoned = {thread for thread in self.abandoned if thread.is_alive()}
        return len(self.abandoned)

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function and return its result. If the call is cancelled, the function continues in its thread."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

        def work() -> None:
            result: tuple[Any, BaseException | None]
            try:
                result = (function(*arguments), None)
            except BaseException as error:  # noqa: BLE001 - raised again in the waiting task
                result = (None, error)
            if not loop.is_closed():
                loop.call_soon_threadsafe(deliver, future, result)

        # A daemon: a function that hangs must not keep the process from ending.
        thread = threading.Thread(
            target=contextvars.copy_context().run, args=(work,), name="postino-handler", daemon=True
        )
        thread.start()
        try:
            # The error comes as a value: a future cannot carry StopIteration.
            result, error = await future
        except asyncio.CancelledError:
            if thread.is_alive():
                self.abandoned.add(thread)
                advice = "a thread cannot be stopped; the function keeps a slot of this worker until it returns"
                log.warning("handler.abandoned", function=getattr(function, "__qualname__", "?"), next=advice)
            raise
        if error is not None:
            raise error
        return result


def deliver(future: asyncio.Future[Any], result: tuple[Any, BaseException | None]) -> None:
    if not future.done():
        future.set_result(result)
