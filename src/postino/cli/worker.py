"""`postino worker`: publishes posts, or runs the jobs of an application, until told to stop."""

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
from postino.cli.options import DatabaseUrl, DataDir
from postino.cli.shutdown import Stop
from postino.errors import Conflict

if TYPE_CHECKING:
    from postino.app import App
    from postino.wiring import Postino

LAST_WORDS = 0.2  # seconds that handlers have to end by themselves after the worker has
OF_LOOP = "postino-loop"
HANDLER_THREADS = ("postino-handler", OF_LOOP)  # of plain functions, and of `asyncio.to_thread` in others


def run_worker(
    app: Annotated[
        str | None,
        typer.Option(
            "--app",
            metavar="MODULE:ATTR",
            envvar="POSTINO_APP",
            help="Application with your own handlers. Without it, the worker only publishes posts.",
            show_default=False,
        ),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", min=1, help="At most so many jobs at once.", show_default=False)
    ] = None,
    until_eof: Annotated[bool, typer.Option("--until-eof", hidden=True)] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Publish posts and run jobs. SIGTERM or Ctrl-C lets running ones end; another later ends at once."""
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
    threads = ThreadPoolExecutor(thread_name_prefix=OF_LOOP)
    with with_exact_commands(target), asyncio.Runner(loop_factory=choose_event_loop()) as runner:
        runner.get_loop().set_default_executor(threads)
        if not app and isinstance(loaded, Postino):
            runner.run(check_only_posts(loaded))
        runner.run(work(loaded, until_eof=until_eof))
        threads.shutdown(wait=False, cancel_futures=True)
        if left := [*runner.run(list_running_tasks()), *list_running_threads()]:
            abandon_handlers(len(left))


def export_settings(target: Target, concurrency: int | None = None) -> None:
    """Before the application is imported, because it reads its settings then."""
    if sandbox_url := target.config().sandbox.url:
        os.environ["POSTINO_SANDBOX_URL"] = sandbox_url
    if target.data_dir is not None:
        os.environ["POSTINO_DATA_DIR"] = str(target.data_dir.expanduser().absolute())
    if target.database_url is not None:
        os.environ["POSTINO_DATABASE_URL"] = target.database_url
    if concurrency is not None:
        os.environ["POSTINO_WORKER_CONCURRENCY"] = str(concurrency)


async def check_only_posts(app: "Postino") -> None:
    """What it has no handler for, a worker tries in vain: better refused than attempts spent."""
    await app.open()
    others = sorted({depth.channel for depth in await app.store.queue_depths()} - app.networks.titles.keys())
    if others:
        raise Conflict(
            f"This queue has jobs that are no posts (of {', '.join(others)}), and a worker that knows only posts would"
            " spend their attempts. Say whose handlers run them, with `postino worker --app module:attr`; a network"
            " of your own is named in the setting networks.plugins."
        )


def choose_event_loop() -> "type[asyncio.AbstractEventLoop] | None":
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    return uvloop.Loop


async def work(app: "App", *, until_eof: bool) -> None:
    stop = Stop(asyncio.get_running_loop())
    stop.listen(until_eof=until_eof)
    try:
        await app.work(stop=stop.event)
    finally:
        await app.close()


async def list_running_tasks() -> list["asyncio.Task[object]"]:
    """Handlers that do not let themselves be stopped although their worker has ended."""
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    return list((await asyncio.wait(tasks, timeout=LAST_WORDS))[1]) if tasks else []


def list_running_threads() -> list[threading.Thread]:
    """Threads of handlers that go on although their worker has ended."""
    threads = [thread for thread in threading.enumerate() if thread.name.startswith(HANDLER_THREADS)]
    until = time.monotonic() + LAST_WORDS
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return [thread for thread in threads if thread.is_alive()]


def abandon_handlers(handlers: int) -> NoReturn:
    """Python would wait for them, for ever if need be: they cannot be stopped, but a process can end."""
    import structlog

    log = structlog.get_logger("postino.worker")
    log.warning("worker.abandoned", handlers=handlers, next="it ends without them; their jobs were given back")
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
