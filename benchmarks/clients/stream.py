"""Listeners that hear what happens, and one who lets it happen at a steady pace: how long it is on its way."""

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

QUIET = 5.0  # seconds without anything new, after which what is missing is missed
AT = "2027-05-{:02}T08:00:00Z"
Heard = list[tuple[str, float, float]]  # what one listener heard, when that was, and how long after it had happened


class Listeners:
    """Each with a connection of its own."""

    def __init__(self, session: aiohttp.ClientSession, count: int) -> None:
        self.session = session
        self.heard: list[Heard] = [[] for _ in range(count)]
        self.ready = [asyncio.Event() for _ in range(count)]
        self.tasks = [asyncio.create_task(self.listen(number)) for number in range(count)]

    async def listen(self, number: int) -> None:
        async with self.session.get("/v1/events", timeout=aiohttp.ClientTimeout(None)) as answer:
            async for line in answer.content:
                if line.startswith(b": listening"):
                    self.ready[number].set()
                elif line.startswith(b"data: "):
                    now, late = time.perf_counter(), time.time()
                    said = json.loads(line[6:])
                    late -= datetime.fromisoformat(said["at"]).timestamp()
                    self.heard[number].append((event_key(said["job_id"], said["type"]), now, late))

    async def until_quiet(self, expected: int) -> None:
        """Until everybody has heard everything, or nothing comes any more."""
        before, since = -1, time.perf_counter()
        while (now := sum(map(len, self.heard))) < expected * len(self.heard):
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


async def run(wanted: dict[str, Any]) -> dict[str, float]:
    headers = {"Authorization": f"Bearer {wanted['key']}"}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(wanted["url"], headers=headers, connector=connector) as session:
        posts = await create_posts(session, wanted["accounts"], wanted["events"] // 2)
        listeners = Listeners(session, wanted["listeners"])
        await asyncio.gather(*(ready.wait() for ready in listeners.ready))
        await asyncio.sleep(0.5)
        answered = await change_posts(session, posts, 1 / wanted["rate"])
        await listeners.until_quiet(len(answered))
        await listeners.close()
    return summarise(answered, listeners.heard)


async def create_posts(session: aiohttp.ClientSession, accounts: list[str], count: int) -> list[str]:
    posts = []
    for number in range(count):
        body = {"text": make_text(number), "accounts": [accounts[number % len(accounts)]], "at": AT.format(1)}
        async with session.post("/v1/posts", json=body) as answer:
            answer.raise_for_status()
            posts.append((await answer.json())["id"])
    return posts


async def change_posts(session: aiohttp.ClientSession, posts: list[str], gap: float) -> dict[str, float]:
    """Each post is moved to another day, and cancelled; and when that was answered."""
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

    following, deeds = time.perf_counter(), []
    for number in range(2 * len(posts)):
        kind = ("job.rescheduled", "job.cancelled")[number * 2 // (2 * len(posts))]
        deeds.append(asyncio.create_task(change(posts[number % len(posts)], kind)))
        following += gap
        await asyncio.sleep(max(0, following - time.perf_counter()))
    await asyncio.gather(*deeds)
    return answered


def summarise(answered: dict[str, float], heard: list[Heard]) -> dict[str, float]:
    """By its own time an event happened when its transaction began. One heard before its request is answered took none
    from there."""
    late = [1000 * late for mine in heard for _, _, late in mine]
    after = [1000 * max(0.0, at - answered[name]) for mine in heard for name, at, _ in mine if name in answered]
    counts = [Counter(name for name, _, _ in mine) for mine in heard]
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
