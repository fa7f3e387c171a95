"""One client that asks for lists and days, one after the other, and looks at what comes back."""

import json
import sys
import time
from typing import Any

import aiohttp
import uvloop

from benchmarks.workload import percentile


async def run(wanted: dict[str, Any]) -> dict[str, Any]:
    """Each question in turn, so that none has the caches for itself; what is not answered is an error."""
    taken: dict[str, list[float]] = {name: [] for name in wanted["questions"]}
    rows: dict[str, int] = dict.fromkeys(taken, 0)
    async with aiohttp.ClientSession(wanted["url"]) as session:
        for number in range(wanted["times"]):
            for name, questions in wanted["questions"].items():
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
        said = await reply.read()
        if reply.status != 200:
            raise SystemExit(f"{path}: {reply.status}: {said.decode()[:400]}")
        return json.loads(said)


def count_rows(found: Any) -> int:
    return sum(len(one["posts"]) if "posts" in one else 1 for one in found["data"])


if __name__ == "__main__":
    print(json.dumps(uvloop.run(run(json.loads(sys.argv[1])))))
