"""`postino worker`: runs the jobs of an application until told to stop."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from postino.cli.options import DatabaseUrl, DataDir
from postino.cli.session import Where, advising
from postino.errors import WrongUse

if TYPE_CHECKING:
    from postino.app import App

GRACE = 3.0  # seconds a worker has to end what it does once the process that started it is gone
SIGNALS = (signal.SIGTERM, signal.SIGINT)
ONE_STOP = 1.0  # seconds in which signals are one request: supervisors signal a process and then its whole group
LAST_WORDS = 0.2  # seconds that handlers have to end by themselves after the worker has
OF_LOOP = "postino-loop"
HANDLER_THREADS = ("postino-handler", OF_LOOP)  # of plain functions, and of `asyncio.to_thread` in others
NO_APP = (
    "app: say which application's jobs to run, with --app module:attr or POSTINO_APP=module:attr. For example, with"
    " `app = Postino()` and its handlers in shop.py: postino worker --app shop:app. Postino has no job types of its own"
    " in this release."
)


def run_worker(
    app: Annotated[
        str | None,
        typer.Option(
            "--app", metavar="MODULE:ATTR", envvar="POSTINO_APP", help="Where the Postino is.", show_default=False
        ),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", min=1, help="At most so many jobs at once.", show_default=False)
    ] = None,
    until_eof: Annotated[bool, typer.Option("--until-eof", hidden=True)] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Run jobs. SIGTERM or Ctrl-C lets running ones end; another one later ends at once, and others take over."""
    from postino.cli import logs
    from postino.cli.loading import check_obeyed, load

    if not app:
        raise WrongUse(NO_APP, field="app")
    logs.to_stderr()
    where = Where(data_dir, database_url)
    tell_environment(where, concurrency)
    loaded = load(app)
    check_obeyed(loaded.config, app, where, concurrency)
    threads = ThreadPoolExecutor(thread_name_prefix=OF_LOOP)
    with advising(where), asyncio.Runner(loop_factory=fastest_loop()) as runner:
        runner.get_loop().set_default_executor(threads)
        runner.run(work(loaded, until_eof=until_eof))
        threads.shutdown(wait=False, cancel_futures=True)
        if left := [*runner.run(still_stubborn()), *still_blocked()]:
            leave_behind(len(left))


def tell_environment(where: Where, concurrency: int | None) -> None:
    """Before the application is imported, because it reads its settings then."""
    where.check()
    if where.data_dir is not None:
        os.environ["POSTINO_DATA_DIR"] = str(where.data_dir.expanduser().absolute())
    if where.database_url is not None:
        os.environ["POSTINO_DATABASE_URL"] = where.database_url
    if concurrency is not None:
        os.environ["POSTINO_WORKER_CONCURRENCY"] = str(concurrency)


def fastest_loop() -> "type[asyncio.AbstractEventLoop] | None":
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    return uvloop.Loop


async def work(app: "App", *, until_eof: bool) -> None:
    stop = Stop(asyncio.get_running_loop())
    for number in SIGNALS:
        signal.signal(number, stop.on_signal)
    if until_eof:
        threading.Thread(target=stop.at_eof, name="postino-lifeline", daemon=True).start()
    try:
        await app.work(stop=stop.event)
    finally:
        await app.close()


async def still_stubborn() -> list["asyncio.Task[object]"]:
    """Handlers that do not let themselves be stopped although their worker has ended."""
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    return list((await asyncio.wait(tasks, timeout=LAST_WORDS))[1]) if tasks else []


def still_blocked() -> list[threading.Thread]:
    """Threads of handlers that go on although their worker has ended."""
    threads = [thread for thread in threading.enumerate() if thread.name.startswith(HANDLER_THREADS)]
    until = time.monotonic() + LAST_WORDS
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return [thread for thread in threads if thread.is_alive()]


def leave_behind(handlers: int) -> NoReturn:
    """Python would wait for them, for ever if need be: they cannot be stopped, but a process can end."""
    import structlog

    log = structlog.get_logger("postino.worker")
    log.warning("worker.abandoned", handlers=handlers, next="it ends without them; their jobs were given back")
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


class Stop:
    """Asked once, the worker lets running jobs end; asked again later, the process ends."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.event = asyncio.Event()
        self.asked_at: float | None = None

    def on_signal(self, number: int, _: FrameType | None) -> None:
        # Not the loop's own way: a handler that blocks the loop must not keep the second signal from being heard.
        if self.asked_at is None:
            self.asked_at = time.monotonic()
        elif time.monotonic() - self.asked_at > ONE_STOP:
            os._exit(128 + number)
        with contextlib.suppress(RuntimeError):  # the loop is closed: it ends already
            self.loop.call_soon_threadsafe(self.event.set)

    def at_eof(self) -> None:
        """Standard input is a pipe from whoever started us; it ends when they do, however they do."""
        while os.read(sys.stdin.fileno(), 1024):
            pass
        self.loop.call_soon_threadsafe(self.event.set)
        threading.Event().wait(GRACE)
        os._exit(1)
