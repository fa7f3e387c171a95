"""A worker process whose handlers record in a folder which jobs they ran."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

from postino import Job, Postino
from postino.config import Config, DatabaseConfig, WorkerConfig

folder = Path(os.environ["RECORDS"])
app = Postino(
    Config(
        data_dir=folder,
        database=DatabaseConfig(url=os.environ["RECORDER_DATABASE"]),
        worker=WorkerConfig(
            concurrency=8,
            heartbeat=0.2,
            lease=1.0,
            poll=0.2,
            stall=float(os.environ.get("STALL", "60")),
            drain=float(os.environ.get("DRAIN", "30")),
        ),
    )
)


def record(line: str) -> None:
    """Append one line at once, so that it survives a kill."""
    file = os.open(folder / "record", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{line}\n".encode())
    os.close(file)


@app.handler("record")
async def note(job: Job) -> None:
    record(f"{job.id} {os.getpid()}")


@app.handler("meet")
async def meet(job: Job, payload: int) -> None:
    """Wait until this many jobs have started: more than the slots of one process need a second one."""
    record(f"{job.id} {os.getpid()}")
    while len((folder / "record").read_text().splitlines()) < payload:  # noqa: ASYNC110 - other processes come too
        await asyncio.sleep(0.02)


@app.handler("alone")
async def alone(job: Job, payload: str) -> None:
    """Record an overlap if another job with the same name runs at the same time."""
    try:
        os.close(os.open(folder / payload, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        record(f"{job.id} overlap")
        return
    await asyncio.sleep(0.005)
    os.unlink(folder / payload)
    record(f"{job.id} {os.getpid()}")


@app.handler("hang")
async def hang(job: Job) -> None:
    """Hang in the process that a file names, and end at once in any other."""
    record(f"{job.id} {os.getpid()}")
    if (folder / "hanging").read_text() == str(os.getpid()):
        await asyncio.sleep(60)


@app.handler("kill")
async def kill(job: Job) -> None:
    record(f"{job.id} {os.getpid()}")
    os.kill(os.getpid(), signal.SIGKILL)


@app.handler("slow")
async def slow(job: Job) -> None:
    await asyncio.sleep(0.3)
    record(f"{job.id} {os.getpid()}")


@app.handler("block")
async def block(job: Job, payload: float) -> None:
    """Block the event loop of the process that a file names, and end at once in any other."""
    record(f"{job.id} {os.getpid()}")
    if (folder / "hanging").read_text() == str(os.getpid()):
        time.sleep(payload)  # noqa: ASYNC251 - the mistake under test


async def main() -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with app:
        print("ready", flush=True)
        await app.work(stop=stop)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
