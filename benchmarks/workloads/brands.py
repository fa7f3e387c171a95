"""Enqueue one post of a brand behind 100,000 due posts of another brand, and count those that start before it."""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.install import Installed
from benchmarks.trial import Failed, Trial
from benchmarks.workload import Figure, Stage, Target, Workload
from postino import JobSpec, Postino
from postino.config import load_config

BACKLOG, ACCOUNTS, TOGETHER = 100_000, 500, 10_000
CHANNEL, CAP, CONCURRENCY = "posts", 50, 200
NAP = 0.05
SINGLE = -1
LONGEST = 60.0


def brands(stage: Stage, installed: Installed) -> Mapping[str, float]:
    backlog = stage.size(BACKLOG)
    with Trial(stage.server, installed) as trial:
        asyncio.run(fill(trial.url, backlog))
        trial.start(CONCURRENCY)
        if not trial.marks.wait_for(min(20 * CAP, backlog // 2), LONGEST, trial.check):
            raise Failed(f"hardly anything began within {LONGEST:.0f} s.")
        accepted_at = asyncio.run(enqueue_one(trial.url))
        while SINGLE not in {mark.number for mark in trial.marks.read()}:
            trial.check()
            if time.time() > accepted_at + LONGEST:
                raise Failed(f"the other brand's did not begin within {LONGEST:.0f} s.")
            time.sleep(0.01)
        began = {mark.number: mark.started_at - NAP for mark in trial.marks.read()}  # marked at the end of its nap
    before = [at for number, at in began.items() if number != SINGLE and accepted_at <= at < began[SINGLE]]
    return {"before": len(before), "wait": max(0.0, 1000 * (began[SINGLE] - accepted_at))}


async def fill(url: str, backlog: int) -> None:
    async with app_on(url) as app:
        await app.cap(CHANNEL, CAP)
        for first in range(0, backlog, TOGETHER):
            await app.enqueue_many([spec(number, "large") for number in range(first, min(first + TOGETHER, backlog))])


async def enqueue_one(url: str) -> float:
    async with app_on(url) as app:
        await app.enqueue_many([spec(SINGLE, "small")])
        return time.time()


def app_on(url: str) -> Postino:
    return Postino(load_config(Path("/nonexistent"), {"database": {"url": url}}, {}))


def spec(number: int, brand: str) -> JobSpec:
    return JobSpec(
        "nap", {"number": number, "stamp": 0.0}, channel=CHANNEL, account=f"{brand} {number % ACCOUNTS}", brand=brand
    )


WORKLOADS = (
    Workload(
        "brands",
        "one post behind 100,000 due posts of another brand, at most 50 at once",
        ("postino",),
        (
            Figure("before", "posts of the other brand that started before it", "posts", targets=(Target(CAP),)),
            Figure("wait", "wait until it started", "ms"),
        ),
        brands,
        most_rounds=3,
    ),
)
