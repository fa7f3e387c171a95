"""The door for code without an event loop: one thread with one loop, made when first needed."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from postino.errors import WrongUse
from postino.values.job import Job

T = TypeVar("T")


class Sync:
    """`app.sync.enqueue(…)`, `app.sync.enqueue_many(…)`, and `app.sync(app.cancel(…))` for everything else."""

    def __init__(
        self,
        enqueue: Callable[..., Coroutine[Any, Any, Job]],
        enqueue_many: Callable[..., Coroutine[Any, Any, list[Job]]],
        close: Callable[[], Coroutine[Any, Any, None]],
        home: Callable[[], asyncio.AbstractEventLoop | None],
    ) -> None:
        self._enqueue = enqueue
        self._enqueue_many = enqueue_many
        self._close = close
        self._home = home
        self.loop: asyncio.AbstractEventLoop | None = None
        self.lock = threading.Lock()

    def __call__(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs asynchronous work to its end and returns its result: on the loop the app lives on, or one of its own."""
        home = self._home()
        if home is not None and home is not self.loop and home.is_running():
            return self.on_anothers(home, work)
        with self.lock:
            if self.loop is None:
                self.loop = asyncio.new_event_loop()
                self.thread = threading.Thread(target=serve, args=(self.loop,), name="postino-portal", daemon=True)
                self.thread.start()
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    @staticmethod
    def on_anothers(home: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is home:
            work.close()
            raise WrongUse("app.sync is for code without an event loop; here, use `await`.")
        return asyncio.run_coroutine_threadsafe(work, home).result()

    def enqueue(self, type: str, payload: Any = None, *, connection: Any = None, **details: Any) -> Job:
        work = self._enqueue(type, payload, connection=connection, **details)
        return self(work) if connection is None else at_once(work)

    def enqueue_many(self, jobs: Sequence[Any], *, connection: Any = None) -> list[Job]:
        work = self._enqueue_many(jobs, connection=connection)
        return self(work) if connection is None else at_once(work)

    def close(self) -> None:
        if self.loop is not None:
            self(self._close())
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join()
            self.loop = None


def serve(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """Runs work that never waits, here in the caller's thread: what its own synchronous connection demands."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    work.close()
    raise WrongUse("connection: an asynchronous connection needs `await app.enqueue(…)`.", field="connection")
