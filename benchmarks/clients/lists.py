"""One client that requests lists and calendar days one after the other and checks the responses."""

import json
import sys
import time
from typing import Any

import aiohttp
import uvloop

from benchmarks.workload import percentile


async def run(options: dict[str, Any]) -> dict[str, Any]:
    """Send the requests in turn, so that none has the caches for itself. Any failure is an error."""
    taken: dict[str, list[float]] = {name: [] for name in options["questions"]}
    rows: dict[str, int] = dict.fromkeys(taken, 0)
    async with aiohttp.ClientSession(options["url"]) as session:
        for number in range(options["times"]):
            for name, questions in options["questions"].items():
                asked = questions[number % len(questions)]
                began = time.perf_counter()
                found = await answer(session, asked["path"], asked["key"])
                taken[name].append(1000 * (time.perf_counter() - began))
                rows[name] += count_rows(found)
    return {
        name: {
            "p50": percentile(times, 0.5), "p99": percentile(times, 0.99), "worst": max(times), "first": times[0],
            "rows": rows[name] / len(times),
        }
        for name, times in taken.items()
    }  # fmt: skip


async def answer(session: aiohttp.ClientSession, path: str, key: str) -> Any:
    async with session.get(path, headers={"Authorization": f"Bearer {key}"}) as reply:
        body = await reply.read()
        if reply.status != 200:
            raise SystemExit(f"{path}: {reply.status}: {body.decode()[:400]}")
        return json.loads(body)


def count_rows(found: Any) -> int:
    return sum(len(one["posts"]) if "posts" in one else 1 for one in found["data"])


if __name__ == "__main__":
    print(json.dumps(uvloop.run(run(json.loads(sys.argv[1])))))
