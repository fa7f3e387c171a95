"""Postino for code without an event loop, such as Django, Flask and scripts."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from postino.errors import WrongUse
from postino.values.job import Job

T = TypeVar("T")


class Sync:
    """`app.sync.enqueue(…)`, `app.sync.enqueue_many(…)`, and `app.sync(app.cancel(…))` for everything else.

    It runs on the app's event loop if there is one, otherwise on a loop in a thread of its own.
    """

    def __init__(
        self,
        enqueue: Callable[..., Coroutine[Any, Any, Job]],
        enqueue_many: Callable[..., Coroutine[Any, Any, list[Job]]],
        close: Callable[[], Coroutine[Any, Any, None]],
        app_loop: Callable[[], asyncio.AbstractEventLoop | None],
    ) -> None:
        self._enqueue = enqueue
        self._enqueue_many = enqueue_many
        self._close = close
        self._app_loop = app_loop
        self.loop: asyncio.AbstractEventLoop | None = None
        self.lock = threading.Lock()

    def __call__(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of the app and return its result. Raises WrongUse on the app's own event loop."""
        app_loop = self._app_loop()
        if app_loop is not None and app_loop is not self.loop and app_loop.is_running():
            return run_on(app_loop, work)
        with self.lock:
            if self.loop is None:
                self.loop = asyncio.new_event_loop()
                self.thread = threading.Thread(target=run_loop, args=(self.loop,), name="postino-sync", daemon=True)
                self.thread.start()
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def enqueue(self, type: str, payload: Any = None, *, connection: Any = None, **details: Any) -> Job:
        """Do what `Postino.enqueue` does, with the same arguments."""
        work = self._enqueue(type, payload, connection=connection, **details)
        return self(work) if connection is None else run_inline(work)

    def enqueue_many(self, jobs: Sequence[Any], *, connection: Any = None) -> list[Job]:
        """Do what `Postino.enqueue_many` does, with the same arguments."""
        work = self._enqueue_many(jobs, connection=connection)
        return self(work) if connection is None else run_inline(work)

    def close(self) -> None:
        """Close the app and end the thread."""
        if self.loop is not None:
            self(self._close())
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join()
            self.loop = None


def run_on(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a loop of another thread and wait for its result."""
    try:
        current = asyncio.get_running_loop()
    except RuntimeError:
        current = None
    if current is loop:
        work.close()
        raise WrongUse("app.sync is for code without an event loop; here, use `await`.")
    return asyncio.run_coroutine_threadsafe(work, loop).result()


def run_loop(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


def run_inline(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits in the caller's thread, where its synchronous connection must be used."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    work.close()
    raise WrongUse("connection: an asynchronous connection needs `await app.enqueue(…)`.", field="connection")
