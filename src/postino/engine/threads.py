"""Plain functions, each in a thread of its own: one that never returns keeps nobody else from running."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import structlog

log = structlog.get_logger("postino.worker")


class Threads:
    def __init__(self) -> None:
        self.abandoned: set[threading.Thread] = set()

    def still_running(self) -> int:
        """How many functions go on although nobody waits for them any more."""
        self.abandoned = {thread for thread in self.abandoned if thread.is_alive()}
        return len(self.abandoned)

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

        def work() -> None:
            ended: tuple[Any, BaseException | None]
            try:
                ended = (function(*arguments), None)
            except BaseException as error:  # noqa: BLE001 - handed to whoever waits
                ended = (None, error)
            if not loop.is_closed():
                loop.call_soon_threadsafe(deliver, future, ended)

        # A daemon: a function that hangs must not keep the process from ending.
        thread = threading.Thread(target=work, name="postino-handler", daemon=True)
        thread.start()
        try:
            # As a value: a future cannot carry every exception there is.
            result, raised = await future
        except asyncio.CancelledError:
            if thread.is_alive():
                self.abandoned.add(thread)
                told = "nobody waits for it any more; it keeps its slot of this worker until it returns"
                log.warning("handler.abandoned", function=getattr(function, "__qualname__", "?"), next=told)
            raise
        if raised is not None:
            raise raised
        return result


def deliver(future: asyncio.Future[Any], ended: tuple[Any, BaseException | None]) -> None:
    if not future.done():
        future.set_result(ended)
