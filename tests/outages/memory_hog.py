"""The recording worker with little memory, and a handler that needs more."""

import asyncio
import os
import resource
import sys

import psutil

from postino import Job
from tests.engine.recording_worker import app, main, record

ROOM = 1 << 30  # beyond what the process has anyway; threads alone reserve much of it
BITE = 16 << 20


@app.handler("eat", max_attempts=1)
async def eat(job: Job) -> None:
    record(f"{job.id} {os.getpid()}")
    eaten = []
    while True:
        eaten.append(bytearray(BITE))


if __name__ == "__main__":
    most = psutil.Process().memory_info().vms + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    sys.exit(asyncio.run(main()))
