"""The way of a publish through the crash points, walked once and written down: a worker is then killed at every one.

What a network's steps are, and so how often a point is passed, comes from the code itself: a step that is added to a
provider is part of the sweep from then on.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass

from tests.crash.publishing.harness import IN_TIME, Posted, PublishingHarness
from tests.crash.publishing.post_shapes import Shape

# Passed once a worker has a post in its hands, and by nobody else as long as it takes one at a time.
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
    def of(cls, shape: Shape, crash: str) -> "Passage":
        point, _, passage = crash.partition(":")
        return cls(shape, point, int(passage or 1))

    @property
    def crash(self) -> str:
        return f"{self.point}:{self.passage}"


async def walk(harness: PublishingHarness, shape: Shape) -> list[Passage]:
    """A post of this shape, published by a worker that notes every point it passes."""
    path = harness.workers.folder / "trace"
    path.unlink(missing_ok=True)
    posted = await harness.post(shape, "walked")
    worker = await harness.start(traces=True, concurrency=1, patience=1.0)  # at leisure: nothing is tried twice
    async with asyncio.timeout(IN_TIME):
        while not await is_final(harness, posted):  # noqa: ASYNC110 - another process ends it
            await asyncio.sleep(0.01)
    await harness.stop(worker)
    passed: Counter[str] = Counter()
    stations = []
    for point in path.read_text().split():
        passed[point] += 1
        if point.startswith(IN_HAND):
            stations.append(Passage(shape, point, passed[point]))
    return stations


async def is_final(harness: PublishingHarness, posted: Posted) -> bool:
    return (await harness.app.store.job(posted.id)).state.is_final
