"""Listeners of the event stream, and a client that changes posts at a steady rate."""

import asyncio
import json
import sys
import time
from collections import Counter
from datetime import datetime
from typing import Any

import aiohttp
import uvloop

from benchmarks.clients.words import make_text
from benchmarks.workload import percentile

QUIET = 5.0  # seconds without an event, after which missing events count as missed
AT = "2027-05-{:02}T08:00:00Z"
TYPES = ("job.rescheduled", "job.cancelled")
Heard = list[tuple[str, float, float]]  # per listener: the event, when it arrived, and how long after it happened


class Listeners:
    """Open many listeners, each with its own connection."""

    def __init__(self, session: aiohttp.ClientSession, count: int) -> None:
        self.session = session
        self.received: list[Heard] = [[] for _ in range(count)]
        self.ready = [asyncio.Event() for _ in range(count)]
        self.tasks = [asyncio.create_task(self.listen(number)) for number in range(count)]

    async def listen(self, number: int) -> None:
        async with self.session.get(
            f"/v1/events?types={','.join(TYPES)}", timeout=aiohttp.ClientTimeout(None)
        ) as answer:
            async for line in answer.content:
                if line.startswith(b": listening"):
                    self.ready[number].set()
                elif line.startswith(b"data: "):
                    now, late = time.perf_counter(), time.time()
                    event = json.loads(line[6:])
                    late -= datetime.fromisoformat(event["at"]).timestamp()
                    self.received[number].append((event_key(event["job_id"], event["type"]), now, late))

    async def until_quiet(self, expected: int) -> None:
        """Wait until every listener has every event, or no more events arrive."""
        before, since = -1, time.perf_counter()
        while (now := sum(map(len, self.received))) < expected * len(self.received):
            if now > before:
                before, since = now, time.perf_counter()
            if time.perf_counter() - since > QUIET:
                return
            await asyncio.sleep(0.05)

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


def event_key(job_id: str, kind: str) -> str:
    return f"{job_id} {kind}"


async def run(options: dict[str, Any]) -> dict[str, float]:
    headers = {"Authorization": f"Bearer {options['key']}"}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(options["url"], headers=headers, connector=connector) as session:
        posts = await create_posts(session, options["accounts"], options["events"] // 2)
        listeners = Listeners(session, options["listeners"])
        await asyncio.gather(*(ready.wait() for ready in listeners.ready))
        await asyncio.sleep(0.5)
        answered = await change_posts(session, posts, 1 / options["rate"])
        await listeners.until_quiet(len(answered))
        await listeners.close()
    return summarise(answered, listeners.received)


async def create_posts(session: aiohttp.ClientSession, accounts: list[str], count: int) -> list[str]:
    posts = []
    for number in range(count):
        body = {"text": make_text(number), "accounts": [accounts[number % len(accounts)]], "at": AT.format(1)}
        async with session.post("/v1/posts", json=body) as answer:
            answer.raise_for_status()
            posts.append((await answer.json())["id"])
    return posts


async def change_posts(session: aiohttp.ClientSession, posts: list[str], gap: float) -> dict[str, float]:
    """Reschedule and cancel each post; return when each request was answered."""
    answered: dict[str, float] = {}

    async def change(post_id: str, kind: str) -> None:
        if kind == "job.cancelled":
            asked = session.post(f"/v1/posts/{post_id}/cancel", json={})
        else:
            asked = session.patch(f"/v1/posts/{post_id}", json={"at": AT.format(2)})
        async with asked as answer:
            if answer.status != 200:
                raise SystemExit(f"{kind} of {post_id}: {answer.status}: {await answer.text()}")
            answered[event_key(post_id, kind)] = time.perf_counter()

    following, changes = time.perf_counter(), []
    for number in range(2 * len(posts)):
        kind = TYPES[number * 2 // (2 * len(posts))]
        changes.append(asyncio.create_task(change(posts[number % len(posts)], kind)))
        following += gap
        await asyncio.sleep(max(0, following - time.perf_counter()))
    await asyncio.gather(*changes)
    return answered


def summarise(answered: dict[str, float], received: list[Heard]) -> dict[str, float]:
    """Return the delays of an event: since its transaction began, and since the response to its request.

    The second one is zero if the event arrives before the response.
    """
    late = [1000 * late for mine in received for _, _, late in mine]
    after = [1000 * max(0.0, at - answered[name]) for mine in received for name, at, _ in mine if name in answered]
    counts = [Counter(name for name, _, _ in mine) for mine in received]
    return {
        "p50": percentile(late, 0.5),
        "p99": percentile(late, 0.99),
        "answer-p50": percentile(after, 0.5),
        "answer-p99": percentile(after, 0.99),
        "missed": sum(name not in count for count in counts for name in answered),
        "doubled": sum(times - 1 for count in counts for times in count.values()),
        "rate": len(answered) / (max(answered.values()) - min(answered.values())),
    }


if __name__ == "__main__":
    print(json.dumps(uvloop.run(run(json.loads(sys.argv[1])))))
