"""A worker process that publishes over HTTP, to be killed at a crash point."""

import asyncio
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from postino import Call, Done, Job, Outcome, Postino
from postino.config import Config, DatabaseConfig, QueueConfig, WorkerConfig
from postino.values.ledger import CallPolicy
from postino.values.provider import NEVER, SAME_HANDLE, Found, Http, Intent, LookupResult, NotFound, Receipt

POLICY = CallPolicy(
    timeout=timedelta(seconds=1), listing_delay=timedelta(seconds=0.2), send_within=timedelta(seconds=1)
)


def make_app(url: str, folder: Path) -> Postino:
    worker = WorkerConfig(concurrency=4, heartbeat=0.2, lease=1.0, poll=0.2, drain=5.0)
    queue = QueueConfig(max_attempts=3, retry_backoff={"base": 0, "factor": 1, "max": 0})
    app = Postino(Config(data_dir=folder, database=DatabaseConfig(url=url), worker=worker, queue=queue))

    @app.handler("publish")
    async def publish(job: Job, payload: dict[str, str], call: Call) -> Outcome:
        resend = SAME_HANDLE if payload["resend"] == "harmless" else NEVER
        network = call.with_policy(POLICY)
        picture = await network.step("picture", upload, payload["server"])
        receipt = await network.once("post", post, payload["server"], picture, found=find, resend=resend)
        return Done(None, receipt.remote_id)

    return app


async def upload(http: Http, server: str) -> Any:
    return (await http.request("POST", f"{server}/pictures")).json()["id"]


async def post(http: Http, server: str, picture: str) -> Receipt:
    answer = await http.request("POST", f"{server}/posts", json={"picture": picture})
    return Receipt(remote_id=answer.json()["id"])


async def find(http: Http, intent: Intent, server: str, picture: str) -> LookupResult:
    for known in (await http.request("GET", f"{server}/posts")).json():
        if known["picture"] == picture:
            return Found(Receipt(remote_id=known["id"]))
    return NotFound()


async def main() -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with make_app(os.environ["SENDER_DATABASE"], Path(os.environ["SENDER_FOLDER"])) as app:
        await app.work(stop=stop)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
