"""An event loop with virtual time and a seeded order, in which each task belongs to a simulated process.

Time moves only when nothing is ready to run, so a simulated hour takes as long as its work. What is ready runs in an
order that the seed decides. A process can be killed, so that nothing of it ever runs again, or frozen for a while.
"""

import asyncio
import heapq
import itertools
import random
from asyncio import events
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from contextvars import Context, ContextVar
from typing import Any, NoReturn, TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
process_name: ContextVar[str] = ContextVar("simulated_process", default="")
START = 1000.0  # seconds


class NothingLeft(RuntimeError):
    """Nothing is ready and nothing is scheduled: the simulated world would stand still for ever."""


class SimulatedTask(asyncio.Task[Any]):
    """A task whose place in a set does not depend on its address in memory, which differs from run to run."""

    def __init__(self, coro: Any, *, loop: "SimulationLoop", context: Context | None) -> None:
        self.number = next(loop.numbers)
        super().__init__(coro, loop=loop, context=context)

    def __hash__(self) -> int:
        return self.number


class SimulatedFuture(asyncio.Future[Any]):
    """A future whose place in a set does not depend on its address in memory."""

    def __init__(self, *, loop: "SimulationLoop") -> None:
        self.number = next(loop.numbers)
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self.number


class SimulationLoop(asyncio.AbstractEventLoop):
    """Runs the tasks of all simulated processes in one thread."""

    def __init__(self, seed: object) -> None:
        self.seconds = START
        self.chance = random.Random(f"{seed} order")
        self.ready: list[asyncio.Handle] = []
        self.scheduled: list[tuple[float, int, asyncio.TimerHandle]] = []
        self.numbers = itertools.count()
        self.dead: set[str] = set()
        self.frozen: dict[str, tuple[float, list[asyncio.Handle]]] = {}  # until when, and what is ready then
        self.graveyard: list[object] = []  # of killed processes: nothing may clean up after them
        self.tasks: list[asyncio.Task[Any]] = []
        self.errors: list[dict[str, Any]] = []
        self.steps = 0
        self._running = self._closed = False

    # Processes

    def spawn(self, process: str, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a task in a simulated process."""
        context = Context()
        context.run(process_name.set, process)
        task = self.create_task(work, context=context)
        task.add_done_callback(self.note_error)
        return task

    def note_error(self, task: asyncio.Task[Any]) -> None:
        """Keep the error that ended a task nobody waits for."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.errors.append({"message": "A task failed.", "exception": error})

    def kill(self, process: str) -> None:
        """Let nothing of this process run any more, as SIGKILL does."""
        self.dead.add(process)
        self.frozen.pop(process, None)

    def freeze(self, process: str, seconds: float) -> None:
        """Let nothing of this process run for some seconds, as SIGSTOP and SIGCONT do."""
        if process not in self.dead:
            self.frozen.setdefault(process, (self.seconds + seconds, []))

    # Running

    def run_until_complete(self, future: Any) -> Any:
        """Run until the future is done, and return its result. Raises NothingLeft if it never will be."""
        task = asyncio.ensure_future(future, loop=self)
        self._running = True
        events._set_running_loop(self)
        try:
            while not task.done():
                self.run_once()
        finally:
            events._set_running_loop(None)
            self._running = False
        return task.result()

    def run_once(self) -> None:
        """Run one thing that is ready; move the time on to the next one if there is none."""
        handle = self.take_ready()
        while handle is None:
            self.advance()
            handle = self.take_ready()
        self.steps += 1
        handle._run()

    def take_ready(self) -> asyncio.Handle | None:
        """Return a random handle of those that may run now."""
        ready = self.ready
        while count := len(ready):
            last = ready.pop()
            handle = last
            if count > 1 and (position := int(self.chance.random() * count)) < count - 1:
                handle, ready[position] = ready[position], last
            if not handle._cancelled and self.may_run(handle):
                return handle
        return None

    def may_run(self, handle: asyncio.Handle) -> bool:
        """Return whether the process of the handle is alive and awake. Keep what a frozen process runs later."""
        process = handle._context.get(process_name, "")  # type: ignore[attr-defined]
        if process in self.dead:
            self.graveyard.append(handle)
            return False
        if process in self.frozen:
            self.frozen[process][1].append(handle)
            return False
        return True

    def advance(self) -> None:
        """Move the time to whatever comes next: a timer, or the end of a freeze."""
        while self.scheduled and self.scheduled[0][2].cancelled():
            heapq.heappop(self.scheduled)
        times = [until for until, _ in self.frozen.values()]
        if self.scheduled:
            times.append(self.scheduled[0][0])
        if not times:
            raise NothingLeft("Nothing is ready and nothing is scheduled.")
        self.seconds = max(self.seconds, min(times))
        for process in [it for it, (until, _) in self.frozen.items() if until <= self.seconds]:
            self.ready += self.frozen.pop(process)[1]
        while self.scheduled and self.scheduled[0][0] <= self.seconds:
            self.ready.append(heapq.heappop(self.scheduled)[2])

    # What asyncio asks of a loop

    def time(self) -> float:
        return self.seconds

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self.ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self.seconds + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self.scheduled, (when, next(self.numbers), handle))
        return handle

    def create_future(self) -> asyncio.Future[Any]:
        return SimulatedFuture(loop=self)

    def create_task(
        self, coro: Generator[Any, None, T] | Coroutine[Any, Any, T], *, name: object = None,
        context: Context | None = None, **_: Any,
    ) -> asyncio.Task[T]:  # fmt: skip
        task = SimulatedTask(coro, loop=self, context=context)
        self.tasks.append(task)
        return task

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Run the function at once: a simulation has no threads, because the system would order them."""
        future: asyncio.Future[T] = self.create_future()
        try:
            result = func(*args)
        except Exception as error:  # noqa: BLE001 - raised where the future is awaited
            future.set_exception(error)
        else:
            future.set_result(result)
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.errors.append(context)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return self._running

    def is_closed(self) -> bool:
        return self._closed

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Do nothing: `advance` skips cancelled timers."""

    async def shutdown_asyncgens(self) -> None:
        """Do nothing: what is left belongs to processes that have been killed."""

    def close(self) -> None:
        """Run nothing more."""
        self._closed = True

    def forget(self) -> None:
        """End what never ended, so that the memory can be freed. Nothing that its `finally` blocks do counts any more.

        The garbage collector would do the same in any order, which crashes the interpreter.
        """
        events._set_running_loop(self)
        try:
            for task in self.tasks:  # grows meanwhile
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                if not task.done():
                    with suppress(BaseException):
                        task.get_coro().close()
        finally:
            events._set_running_loop(None)
        for kept in (self.tasks, self.ready, self.scheduled, self.graveyard, self.frozen):
            kept.clear()

    def stop(self) -> NoReturn:
        raise NotImplementedError("A simulation runs until its main task ends.")


def make_loop(seed: object) -> SimulationLoop:
    """Return a loop without what only sockets, signals and child processes need."""
    return SimulationLoop(seed)  # type: ignore[abstract]
