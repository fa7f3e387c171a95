"""The crash points that a publish passes, recorded in one run: the sweep then kills a worker at each of them.

The passages come from the code of the providers, so that a new step of a provider is part of the sweep at once.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass

from tests.crash.publishing.harness import IN_TIME, AcceptedPost, PublishingHarness
from tests.crash.publishing.post_shapes import Shape

# Passed while a worker has claimed a post; unambiguous as long as it claims one at a time.
IN_HAND = (
    "claim.after",
    "handler.",
    "step.",
    "save_step.",
    "reserve_quota.",
    "record_intents.",
    "send.",
    "record_receipt.",
    "lookup.",
    "settle.",
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a crash point by a post of this shape."""

    shape: Shape
    point: str
    passage: int

    def __str__(self) -> str:
        return f"{self.shape} at {self.point}:{self.passage}"

    @classmethod
    def from_crash_point(cls, shape: Shape, crash: str) -> "Passage":
        point, _, passage = crash.partition(":")
        return cls(shape, point, int(passage or 1))

    @property
    def crash(self) -> str:
        return f"{self.point}:{self.passage}"


async def walk(harness: PublishingHarness, shape: Shape) -> list[Passage]:
    """Publish a post of this shape and return every crash point that its worker passes."""
    path = harness.workers.folder / "trace"
    path.unlink(missing_ok=True)
    posted = await harness.post(shape, "walked")
    worker = await harness.start(traces=True, concurrency=1, patience=1.0)  # long timeouts: nothing is retried
    async with asyncio.timeout(IN_TIME):
        while not await is_final(harness, posted):  # noqa: ASYNC110 - another process ends it
            await asyncio.sleep(0.01)
    await harness.stop(worker)
    passed: Counter[str] = Counter()
    passages = []
    for point in path.read_text().split():
        passed[point] += 1
        if point.startswith(IN_HAND):
            passages.append(Passage(shape, point, passed[point]))
    return passages


async def is_final(harness: PublishingHarness, posted: AcceptedPost) -> bool:
    return (await harness.app.store.job(posted.id)).state.is_final
