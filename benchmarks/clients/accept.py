"""Concurrent clients, each on its own open connection; each waits for its response before the next request."""

import asyncio
import itertools
import json
import sys
import time
from typing import Any

import aiohttp
import uvloop

from benchmarks.clients.words import make_text
from benchmarks.workload import percentile

AHEAD = "2027-{:02}-{:02}T{:02}:00:00Z"
POST, HEALTH = "/v1/posts", "/health/live"


async def run(options: dict[str, Any]) -> dict[str, float]:
    """Send requests for the given time. Any other response than success is an error."""
    headers = {"Authorization": f"Bearer {options['key']}"}
    connector = aiohttp.TCPConnector(limit=options["clients"])
    numbers, taken = itertools.count(options["first"]), []
    async with aiohttp.ClientSession(options["url"], headers=headers, connector=connector) as session:
        await asyncio.gather(*(connect(session) for _ in range(options["clients"])))
        if options["what"] == "posts":  # the first requests do not count
            await asyncio.gather(*(post(session, options, next(numbers)) for _ in range(options["clients"])))
        began = time.perf_counter()
        until = began + options["seconds"]

        async def ask() -> None:
            while (asked := time.perf_counter()) < until:
                if options["what"] == "health":
                    await connect(session)
                else:
                    await post(session, options, next(numbers))
                taken.append(time.perf_counter() - asked)

        await asyncio.gather(*(ask() for _ in range(options["clients"])))
        whole = time.perf_counter() - began
    return {
        "count": len(taken),
        "rate": len(taken) / whole,
        "p50": 1000 * percentile(taken, 0.5),
        "p99": 1000 * percentile(taken, 0.99),
    }


async def connect(session: aiohttp.ClientSession) -> None:
    async with session.get(HEALTH) as answer:
        await answer.read()


async def post(session: aiohttp.ClientSession, options: dict[str, Any], number: int) -> None:
    accounts = options["accounts"]
    body = {"text": make_text(number), "accounts": [accounts[number % len(accounts)]]}
    if not options["now"]:
        body["at"] = AHEAD.format(number % 12 + 1, number % 28 + 1, number % 24)
    headers = {"Idempotency-Key": f"order {number}"} if options["keyed"] else {}
    async with session.post(POST, json=body, headers=headers) as answer:
        content = await answer.read()
        if answer.status not in (201, 202):
            raise SystemExit(f"{answer.status}: {content.decode()[:400]}")


if __name__ == "__main__":
    print(json.dumps(uvloop.run(run(json.loads(sys.argv[1])))))
