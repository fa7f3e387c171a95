"""The program of the killed publishing processes: workers with short timeouts, and callers that schedule posts."""

import asyncio
import os
import signal
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from postino import Conflict, Postino
from postino.config import (
    ChannelConfig,
    CircuitsConfig,
    Config,
    DatabaseConfig,
    PublishingConfig,
    SandboxConfig,
    WorkerConfig,
)
from postino.providers import mastodon
from postino.providers.registry import load_built_in
from postino.publishing.post_request import PostRequest
from postino.stores import crash_points
from postino.values.content import Content
from tests.crash.record import Record

LEASE = 1.0
HEARTBEAT = 0.25
PATIENCE = 0.02  # of the networks' own time-outs, which are half a minute
SEND_WITHIN = 0.5
AGAIN = {"base": 0.2, "factor": 1, "max": 0.2}
MOST_ATTEMPTS = 12
# A sweep kills hundreds of workers with long leases: their posts keep their slots, and must not become overdue.
CAP = 10_000  # of each network
TIME_LIMIT = 3600.0


def settings(order: dict[str, Any]) -> Config:
    attempts = order.get("attempts", MOST_ATTEMPTS)
    limit = order.get("time_limit", TIME_LIMIT)
    channel = ChannelConfig(max_attempts=attempts, retry_backoff=AGAIN, cap=CAP, time_limit=limit)
    return Config(
        data_dir=Path(order["folder"]),
        database=DatabaseConfig(url=order["url"]),
        worker=WorkerConfig(
            concurrency=order.get("concurrency", 20),
            heartbeat=HEARTBEAT,
            lease=order.get("lease", LEASE),
            poll=0.2,
            drain=order.get("drain", 30.0),
        ),
        circuits=CircuitsConfig(failure_threshold=1000),  # faults must not open a circuit here
        publishing=PublishingConfig(
            timeout_factor=order.get("patience", PATIENCE), send_within=order.get("send_within", SEND_WITHIN)
        ),
        sandbox=SandboxConfig(url=order["sandbox"]),
        channels=dict.fromkeys(load_built_in().providers, channel),
    )


async def publish(order: dict[str, Any]) -> None:
    """Run a worker that publishes posts, or a caller that schedules some."""
    await (call(order) if "wants" in order else work(order))


async def call(order: dict[str, Any]) -> None:
    """Schedule posts with a key and without one, and record each accepted post; a repeated call may be a conflict."""
    async with Postino(settings(order)) as app:
        for key in ("a key", None):
            content = Content(body=f"{order['wants']}, {'with' if key else 'without'} a key")
            try:
                written = await app.posts.schedule(
                    PostRequest(content=content, accounts=tuple(order["accounts"]), key=key)
                )
            except Conflict:
                continue
            for one in written:
                Record(Path(order["folder"])).write("accepted", one.post.job.id)
        await asyncio.sleep(order.get("stays", 0.0))


async def work(order: dict[str, Any]) -> None:
    """Run a worker, on the machine with this state directory, until SIGTERM."""
    if "state_dir" in order:
        os.environ["POSTINO_STATE_DIR"] = order["state_dir"]
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    mastodon.POLL_EVERY = timedelta(seconds=0.15)  # between two polls of an uploaded image
    mastodon.POLL_TIMEOUT = timedelta(seconds=order.get("picture_patience", 60.0))
    if order.get("traces"):
        trace(Path(order["folder"]))
    async with Postino(settings(order)) as app:
        await app.work(stop=stop)


def trace(folder: Path) -> None:
    """Record every crash point that this process passes."""
    file = os.open(folder / "trace", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    crash_points.read_countdown = partial(Passing, file)  # type: ignore[assignment]


class Passing:
    """Replaces the countdown of a crash point: it records every name and never matches."""

    def __init__(self, file: int) -> None:
        self.file = file
        self.point = self

    def __ne__(self, name: object) -> bool:
        os.write(self.file, f"{name}\n".encode())
        return True
