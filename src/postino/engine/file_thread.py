"""Runs calls on files in a thread of their own, for a limited time: a network file system may hang for ever."""

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class FileThread:
    """Runs calls one after the other. While one hangs, others fail at once."""

    def __init__(self, name: str, seconds: float) -> None:
        self.name = name
        self.seconds = seconds
        self.calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None
        self.late: asyncio.Future[Any] | None = None  # the call that hangs

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function and return its result. Raises TimeoutError; the function then continues in the thread."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def call() -> None:
            try:
                result, error = function(*args, **kwargs), None
            except Exception as raised:  # noqa: BLE001 - raised again in the waiting task
                result, error = None, raised
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle_future, future, result, error)

        if self.late is not None and not self.late.done():
            raise TimeoutError
        self.start()
        self.calls.put(call)
        await asyncio.wait([future], timeout=self.seconds)
        if not future.done():
            self.late = future
            raise TimeoutError
        return future.result()

    def start(self) -> None:
        if self.thread is None:
            # A daemon: a call that hangs must not keep the process from ending.
            self.thread = threading.Thread(target=self.work, args=(self.calls,), name=self.name, daemon=True)
            self.thread.start()

    def work(self, calls: "queue.SimpleQueue[Callable[[], None] | None]") -> None:
        while call := calls.get():
            call()

    def close(self) -> None:
        """End the thread when its calls have ended. The next call starts another one."""
        if self.thread is not None:
            self.calls.put(None)
            self.calls, self.thread, self.late = queue.SimpleQueue(), None, None


def settle_future(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    """Set the result, unless nobody waits for it any more. An error that nobody reads is dropped."""
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
        future.exception()
