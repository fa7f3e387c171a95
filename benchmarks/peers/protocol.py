"""The interface of every contestant: `python -m benchmarks.peers.NAME VERB '{"argument": …}'`.

Runs in the environment of the contestant, so it imports nothing but the standard library.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

URL = os.environ.get("BENCH_URL", "")
MARKS = os.environ.get("BENCH_MARKS", "")
AT_ONCE = 10_000  # rows in one call of a bulk enqueue


@dataclass(frozen=True)
class Batch:
    """Jobs `first` … `first + count - 1`, due at `at` (default: now), each with the time at which it should start."""

    count: int
    kind: str = "noop"  # or "nap", which takes 50 ms
    first: int = 0
    at: float | None = None
    keyed: bool = False
    accounts: int = 0

    def payloads(self) -> list[dict[str, Any]]:
        stamp = self.at if self.at is not None else time.time()
        return [{"number": number, "stamp": stamp} for number in range(self.first, self.first + self.count)]


class Contestant(Protocol):
    left: str  # SQL that counts the jobs whose end is not yet written in the store

    async def setup(self) -> None: ...
    async def open(self) -> None: ...
    async def close(self) -> None: ...
    async def enqueue(self, number: int, stamp: float) -> None: ...
    async def enqueue_many(self, batch: Batch) -> None: ...
    async def work(self, concurrency: int) -> None: ...


class Marker:
    """Write one line for each finished job: its number, when it should have started, and when it started."""

    def __init__(self) -> None:
        self.file = -1

    def __call__(self, number: int, stamp: float) -> None:
        now = time.time()
        if self.file < 0:
            self.file = os.open(MARKS, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(self.file, b"%d %.6f %.6f\n" % (number, stamp, now))


mark = Marker()


async def nap(number: int, stamp: float) -> None:
    await asyncio.sleep(0.05)
    mark(number, stamp)


async def bulk(contestant: Contestant, **options: Any) -> dict[str, float]:
    batch = Batch(**options)
    started_at = time.perf_counter()
    for first in range(0, batch.count, AT_ONCE):
        count = min(AT_ONCE, batch.count - first)
        await contestant.enqueue_many(Batch(count, batch.kind, first, batch.at, batch.keyed, batch.accounts))
    return {"jobs": batch.count, "seconds": time.perf_counter() - started_at}


async def single(contestant: Contestant, callers: int, seconds: float, most: int) -> dict[str, float]:
    """Enqueue from several callers at once; each waits for the commit of its job before the next one."""
    started_at, done = time.perf_counter(), 0

    async def call(caller: int) -> None:
        nonlocal done
        for number in range(caller, most, callers):
            await contestant.enqueue(number, time.time())
            done += 1
            if time.perf_counter() - started_at > seconds:
                break

    await asyncio.gather(*(call(caller) for caller in range(callers)))
    return {"jobs": done, "seconds": time.perf_counter() - started_at}


async def enqueue_paced(contestant: Contestant, count: int, gap: float) -> dict[str, float]:
    following = time.time()
    for number in range(count):
        await contestant.enqueue(number, time.time())
        following += gap
        await asyncio.sleep(max(0, following - time.time()))
    return {"jobs": count}


async def run_verb(contestant: Contestant, verb: str, options: dict[str, Any]) -> dict[str, Any]:
    if verb == "setup":
        await contestant.setup()
        return {"left": contestant.left}
    if verb == "work":
        await contestant.work(**options)
        return {}
    verbs: dict[str, Callable[..., Awaitable[dict[str, float]]]] = {
        "bulk": bulk,
        "single": single,
        "paced": enqueue_paced,
    }
    await contestant.open()
    try:
        return await verbs[verb](contestant, **options)
    finally:
        await contestant.close()


def main(contestant: Contestant, run: Callable[[Any], Any] = asyncio.run) -> None:
    verb, options = sys.argv[1], json.loads(sys.argv[2])
    if verb == "work":  # all that is imported is imported: so that several start together
        print("ready", flush=True)
        sys.stdin.readline()
    print(json.dumps(run(run_verb(contestant, verb, options))), flush=True)
