"""`postino worker`: publish posts, or run the jobs of an application, until stopped."""

import asyncio
import logging
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from postino.cli.connection import Target, with_exact_commands
from postino.cli.options import Application, DatabaseUrl, DataDir
from postino.cli.shutdown import ShutdownSignal

if TYPE_CHECKING:
    from postino.app import App

EXIT_GRACE = 0.2  # seconds that handlers have to end after the worker has
LOOP_THREADS = "postino-loop"
HANDLER_THREADS = ("postino-handler", LOOP_THREADS)  # of plain functions, and of `asyncio.to_thread` in others


def run_worker(
    app: Application = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", min=1, help="Maximum number of jobs at once.", show_default=False)
    ] = None,
    until_eof: Annotated[bool, typer.Option("--until-eof", hidden=True)] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Publish posts and run jobs.

    Ctrl-C or SIGTERM lets running jobs end; a second one stops at once.
    """
    from postino.cli import logs
    from postino.cli.load_app import check_conflicts, load
    from postino.wiring import Postino

    logs.to_stderr()
    target = Target(data_dir, database_url)
    export_settings(target, concurrency)
    loaded: App
    if app:
        loaded = load(app)
        check_conflicts(loaded.config, app, target, concurrency)
    else:
        loaded = Postino(target.config())
    threads = ThreadPoolExecutor(thread_name_prefix=LOOP_THREADS)
    with with_exact_commands(target), asyncio.Runner(loop_factory=choose_event_loop()) as runner:
        runner.get_loop().set_default_executor(threads)
        runner.run(work(loaded, until_eof=until_eof))
        threads.shutdown(wait=False, cancel_futures=True)
        if remaining := [*runner.run(list_running_tasks()), *list_running_threads()]:
            abandon_handlers(len(remaining))


def export_settings(target: Target, concurrency: int | None = None) -> None:
    """Export the options as environment variables, which the application reads when it is imported."""
    if sandbox_url := target.config().sandbox.url:
        os.environ["POSTINO_SANDBOX_URL"] = sandbox_url
    if target.data_dir is not None:
        os.environ["POSTINO_DATA_DIR"] = str(target.data_dir.expanduser().absolute())
    if target.database_url is not None:
        os.environ["POSTINO_DATABASE_URL"] = target.database_url
    if concurrency is not None:
        os.environ["POSTINO_WORKER_CONCURRENCY"] = str(concurrency)


def choose_event_loop() -> "type[asyncio.AbstractEventLoop] | None":
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    return uvloop.Loop


async def work(app: "App", *, until_eof: bool) -> None:
    stop = ShutdownSignal(asyncio.get_running_loop())
    stop.listen(until_eof=until_eof)
    try:
        await app.work(stop=stop.event)
    finally:
        await app.close()


async def list_running_tasks() -> list["asyncio.Task[object]"]:
    """Cancel the remaining tasks and return those that do not end."""
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    return list((await asyncio.wait(tasks, timeout=EXIT_GRACE))[1]) if tasks else []


def list_running_threads() -> list[threading.Thread]:
    """Return handler threads that still run."""
    threads = [thread for thread in threading.enumerate() if thread.name.startswith(HANDLER_THREADS)]
    until = time.monotonic() + EXIT_GRACE
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return [thread for thread in threads if thread.is_alive()]


def abandon_handlers(handlers: int) -> NoReturn:
    """Exit without waiting for handlers that cannot be stopped. Python would wait for ever."""
    import structlog

    log = structlog.get_logger("postino.worker")
    log.warning("worker.abandoned", handlers=handlers, next="the worker exits without them; their jobs run elsewhere")
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
