"""Runs plain functions in threads, one thread each: a function that never returns blocks no other."""

import asyncio
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
        """Run a function and return its result. Cancelled, it goes on without anybody waiting for it."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

        def work() -> None:
            ending: tuple[Any, BaseException | None]
            try:
                ending = (function(*arguments), None)
            except BaseException as error:  # noqa: BLE001 - raised again in the waiting task
                ending = (None, error)
            if not loop.is_closed():
                loop.call_soon_threadsafe(deliver, future, ending)

        # A daemon: a function that hangs must not keep the process from ending.
        thread = threading.Thread(target=work, name="postino-handler", daemon=True)
        thread.start()
        try:
            # The error comes as a value: a future cannot carry StopIteration.
            result, error = await future
        except asyncio.CancelledError:
            if thread.is_alive():
                self.abandoned.add(thread)
                advice = "a thread cannot be stopped; it keeps its slot of this worker until it returns"
                log.warning("handler.abandoned", function=getattr(function, "__qualname__", "?"), next=advice)
            raise
        if error is not None:
            raise error
        return result


def deliver(future: asyncio.Future[Any], ending: tuple[Any, BaseException | None]) -> None:
    if not future.done():
        future.set_result(ending)
