"""`postino up`: the engine at work, on example jobs, before one's eyes."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from postino.cli import output
from postino.cli.options import DatabaseUrl, DataDir, Json
from postino.cli.session import Where
from postino.errors import Conflict, PostinoError
from postino.job import Job, State
from postino.store import JobFilter

if TYPE_CHECKING:
    from postino.app import App
    from postino.cli.screens import Screen
    from postino.config import Config

DEMO = "postino.cli.demo:app"
LOOK_EVERY = 0.1
PATIENCE = 60.0  # longer than a lease, after which another worker takes over what a killed one left
MOST_LEFT = 100


def bring_up(
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    exit_at_end: Annotated[
        bool, typer.Option("--exit", help="End when the example jobs have ended, in a terminal too.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the engine at work: a worker, example jobs, and what happens to them. Nothing leaves this machine."""
    from postino.cli import logs, screens
    from postino.cli.lock import only_one

    logs.to_stderr("warning")
    where = Where(data_dir, database_url)
    config = where.config()
    stays = output.is_terminal() and not exit_at_end and not as_json
    screen: Screen
    if as_json:
        screen = screens.JsonLines()
    else:
        screen = screens.LiveTable(where, stays=stays) if output.is_terminal() else screens.Lines(where)
    with only_one(config.data_dir):
        asyncio.run(show(config, screen, in_terminal=isinstance(screen, screens.LiveTable), stays=stays))


async def show(config: "Config", screen: "Screen", *, in_terminal: bool, stays: bool) -> None:
    from postino.cli.child import check_alive, worker_process
    from postino.wiring import Postino

    stop = stop_on_signals()
    log = config.data_dir / "worker.log" if in_terminal else None  # beside the table it would be noise
    app = Postino(config)
    try:
        await app.store.migrate()
        await app.open()
        jobs = await jobs_to_follow(app)
        async with worker_process(config, DEMO, log) as worker:
            screen.begin(config.data_dir, jobs)
            try:
                await watch(app, jobs, screen, stop, lambda: check_alive(worker, log), stays=stays)
            finally:
                screen.end()
    finally:
        await app.close()


def stop_on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


async def jobs_to_follow(app: "App") -> list[Job]:
    """What an earlier `up` left unfinished, and a fresh handful."""
    from postino.cli.examples import CHANNEL, examples

    others = sorted({depth.channel for depth in await app.store.depths()} - {CHANNEL})
    if others:
        raise Conflict(
            f"This database has jobs that are no examples (of {', '.join(others)}). The worker that `up` starts knows"
            " only examples and would spend their attempts. Run them with `postino worker --app module:attr`, or give"
            " `up` a --data-dir of its own."
        )
    unfinished = JobFilter(states=(State.PENDING, State.RUNNING), channel=CHANNEL, limit=MOST_LEFT)
    left = list(await app.store.list(unfinished))[::-1]
    return left + await app.enqueue_many(examples(datetime.now(UTC)))


async def watch(
    app: "App", jobs: Sequence[Job], screen: "Screen", stop: asyncio.Event, check: Callable[[], None], *, stays: bool
) -> None:
    """Shows each change until all have ended; where it stays, until told to stop."""
    followed = {job.id: job for job in jobs}
    changed_at = time.monotonic()
    while not stop.is_set():
        check()
        changed = [job for job in await looked_at(app, followed) if visible(job) != visible(followed[job.id])]
        for job in changed:
            followed[job.id] = job
            changed_at = time.monotonic()
            screen.changed(job)
        if all(has_ended(job) for job in followed.values()):
            if changed:
                screen.summary(list(followed.values()))
            if not stays:
                return
        elif not stays and time.monotonic() - changed_at > PATIENCE:
            raise PostinoError(
                f"Nothing has changed for {PATIENCE:.0f} s although not all example jobs have ended. `postino queues"
                " list` shows whether something is paused."
            )
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_EVERY):
                await stop.wait()


async def looked_at(app: "App", followed: Mapping[UUID, Job]) -> list[Job]:
    """As they are now; those that ended too, because a person may replay them meanwhile."""
    return [await app.store.get(job_id) for job_id in followed]


def visible(job: Job) -> tuple[object, ...]:
    return job.state, job.attempts, job.run_at, job.last_error


def has_ended(job: Job) -> bool:
    """Uncertain without a time to look again is an end too, until a person speaks."""
    return job.state.is_final or (job.state is State.UNCERTAIN and job.run_at is None)
