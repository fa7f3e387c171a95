"""So many clients at once, each on a connection that stays open, each waiting for its answer before it goes on."""

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


async def run(wanted: dict[str, Any]) -> dict[str, float]:
    """Asks for so many seconds. What is not accepted is an error."""
    headers = {"Authorization": f"Bearer {wanted['key']}"}
    connector = aiohttp.TCPConnector(limit=wanted["clients"])
    numbers, taken = itertools.count(wanted["first"]), []
    async with aiohttp.ClientSession(wanted["url"], headers=headers, connector=connector) as session:
        await asyncio.gather(*(connect(session) for _ in range(wanted["clients"])))
        if wanted["what"] == "posts":  # what is done for the first time only is not counted
            await asyncio.gather(*(post(session, wanted, next(numbers)) for _ in range(wanted["clients"])))
        began = time.perf_counter()
        until = began + wanted["seconds"]

        async def ask() -> None:
            while (asked := time.perf_counter()) < until:
                if wanted["what"] == "health":
                    await connect(session)
                else:
                    await post(session, wanted, next(numbers))
                taken.append(time.perf_counter() - asked)

        await asyncio.gather(*(ask() for _ in range(wanted["clients"])))
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


async def post(session: aiohttp.ClientSession, wanted: dict[str, Any], number: int) -> None:
    accounts = wanted["accounts"]
    body = {"text": make_text(number), "accounts": [accounts[number % len(accounts)]]}
    if not wanted["now"]:
        body["at"] = AHEAD.format(number % 12 + 1, number % 28 + 1, number % 24)
    headers = {"Idempotency-Key": f"order {number}"} if wanted["keyed"] else {}
    async with session.post(POST, json=body, headers=headers) as answer:
        said = await answer.read()
        if answer.status not in (201, 202):
            raise SystemExit(f"{answer.status}: {said.decode()[:400]}")


if __name__ == "__main__":
    print(json.dumps(uvloop.run(run(json.loads(sys.argv[1])))))
