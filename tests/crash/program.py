"""The program of the killed workers: handlers that write a line to disk when they start and when they end.

Each line is one write, so that it survives a kill: the record says what happened, independently of the store.
"""

import asyncio
import signal
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from postino import Call, Defer, Event, Job, JobSpec, Outcome, Postino, Reject, Unknown
from postino.config import Config, DatabaseConfig, QueueConfig, WorkerConfig
from postino.engine import claim_trouble, duties
from tests.crash.publishing.program import publish
from tests.crash.record import Record
from tests.crash.requests.server import call_library, serve_api

LEASE = 1.0


def settings(order: dict[str, Any]) -> Config:
    return Config(
        data_dir=Path(order["folder"]),
        database=DatabaseConfig(url=order["url"]),
        worker=WorkerConfig(concurrency=8, heartbeat=0.2, lease=LEASE, poll=0.2, drain=order.get("drain", 30.0)),
        queue=QueueConfig(max_attempts=5, retry_backoff={"base": 0, "factor": 1, "max": 0}),
        is_publishing=order.get("is_publishing", True),
    )


def application(order: dict[str, Any]) -> Postino:
    app = Postino(settings(order))
    record = Record(Path(order["folder"]))
    add_work(app, record)
    add_trouble(app, record)
    add_hanging(app, record, hangs=order.get("hangs", False))
    if order.get("listens"):
        add_listener(app, record)
    if order.get("dutiful"):  # a duty that could not be done is tried again within seconds, not minutes
        duties.CHECK_EVERY, duties.LEASE = 0.2, 1.0
    if not app.config.is_publishing:
        claim_trouble.REPORT_AFTER = 0.0
    return app


def add_work(app: Postino, record: Record) -> None:
    @app.handler("plain")
    async def plain(job: Job, seconds: float) -> None:
        with record.record_run(job):
            await asyncio.sleep(seconds)

    @app.handler("thread")
    def thread(job: Job, seconds: float) -> None:
        with record.record_run(job):
            time.sleep(seconds)

    @app.handler("block")
    async def block(job: Job, seconds: float) -> None:
        with record.record_run(job):
            time.sleep(seconds)  # noqa: ASYNC251

    @app.handler("parent")
    async def parent(job: Job, children: int, call: Call) -> None:
        with record.record_run(job):
            for number in range(children):
                child = await call.enqueue("plain", 0.0, key=f"{job.id} {number}")
                record.write("child", child.id)


def add_trouble(app: Postino, record: Record) -> None:
    @app.handler("flaky")
    async def flaky(job: Job, times: int) -> None:
        with record.record_run(job):
            if job.attempts <= times:
                raise ConnectionError("The network is away.")

    @app.handler("hopeless")
    async def hopeless(job: Job) -> Outcome:
        with record.record_run(job):
            return Reject("It can never work.")

    @app.handler("later")
    async def later(job: Job) -> Outcome | None:
        with record.record_run(job):
            soon = datetime.now(UTC) + timedelta(seconds=0.1)
            return None if job.deferrals else Defer(soon, "not now")

    @app.handler("unsure")
    async def unsure(job: Job) -> Outcome | None:
        with record.record_run(job):
            return Unknown("No answer came.") if job.attempts == 1 else None


def add_hanging(app: Postino, record: Record, *, hangs: bool) -> None:
    @app.handler("hang")
    async def hang(job: Job) -> None:
        with record.record_run(job):
            if hangs:
                await asyncio.Event().wait()


def add_listener(app: Postino, record: Record) -> None:
    @app.on("job.completed", name="hears")
    async def hear(event: Event) -> None:
        record.write("heard", event.job_id)


async def act(order: dict[str, Any]) -> None:
    """Run what the order says: a worker, an enqueuing caller, a publisher, the API server or one library call."""
    if order.get("publishes"):
        await publish(order)
    elif order.get("serves"):
        await serve_api(order)
    elif order.get("calls"):
        await call_library(order)
    else:
        await (call(order) if order.get("enqueues") else work(order))


async def call(order: dict[str, Any]) -> None:
    async with Postino(settings(order)) as app:
        await app.enqueue("plain", 0.0, key="one")
        await app.enqueue_many([JobSpec("plain", 0.0, key=f"many {number}", account="a") for number in range(5)])


async def work(order: dict[str, Any]) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    app = application(order)
    async with app:
        await app.work(stop=stop)
