"""The posts of a chaos run, created all the time, and a person who replays those whose workers died too often."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from postino.errors import StoreUnreachable
from postino.rules.settlement import DeadLetterCause
from postino.stores.records import DeadLetterFilter
from postino.values.post import StoredAccount
from tests.crash.publishing.harness import PublishingHarness
from tests.crash.publishing.post_shapes import NETWORKS, SHAPES

ACCOUNTS = 12  # of each network: an account's posts go out one at a time
BRANDS = 3
LATER = 1.5  # seconds until a scheduled post is due, at most
MOST_MOVING = 60
TOGETHER = 12
EVERY = 0.1
PERSON_EVERY = 0.5

# What goes wrong with how many of the calls, everywhere.
FAULTS: tuple[tuple[str, float, dict[str, Any]], ...] = (
    ("drop", 0.01, {}),
    ("process_then_drop", 0.02, {}),
    ("process_then_500", 0.01, {}),
    ("timeout", 0.01, {"seconds": 1.5}),
    ("timeout", 0.01, {"seconds": 1.5, "processed": False}),
    ("error_but_published", 0.02, {}),
    ("rate_limited", 0.01, {"seconds": 1}),
    ("invisible", 0.1, {"seconds": 3}),
    ("slow", 0.02, {"seconds": 0.3}),
    ("slow", 0.01, {"seconds": 1.5}),
    ("truncated", 0.01, {}),
    ("html", 0.01, {}),
    ("html", 0.01, {"processed": False}),
)  # fmt: skip


class Load:
    def __init__(self, harness: PublishingHarness, seed: int) -> None:
        self.harness = harness
        self.chance = random.Random(f"{seed} posts")
        self.accounts: dict[str, list[StoredAccount]] = {}
        self.closed = False
        self.replayed = 0
        self.unanswered = 0

    async def prepare(self) -> None:
        for network in NETWORKS:
            self.accounts[network] = [
                await self.harness.open_account(network, brand=f"brand {number % BRANDS}") for number in range(ACCOUNTS)
            ]
        for fault, rate, params in FAULTS:
            await asyncio.to_thread(self.harness.oracle.fail_often, fault, rate, params)

    async def post_repeatedly(self) -> None:
        """Schedule posts until closed. It is never cancelled during a post, which might be accepted unnoticed."""
        while not self.closed:
            async with self.harness.turns.share():
                if await asyncio.to_thread(self.harness.count_moving) < MOST_MOVING:
                    for _ in range(self.chance.randint(1, TOGETHER)):
                        await self.post()
            await asyncio.sleep(EVERY)

    async def post(self) -> None:
        shape = self.chance.choice(SHAPES)
        account = self.chance.choice(self.accounts[shape.network])
        key = f"{self.chance.getrandbits(64):016x}"
        # A blackout would refuse a post that is neither scheduled nor allowed to ignore it.
        wish: dict[str, Any] = {"allow_blackout": True}
        if self.chance.random() < 0.7:
            wish = {"at": datetime.now(UTC) + timedelta(seconds=self.chance.uniform(0, LATER))}
        await self.repeat_until_done(
            lambda: self.harness.post(shape, "in chaos", account=account, text=f"{shape} {key}", key=key, **wish)
        )

    async def replay_repeatedly(self) -> None:
        while True:
            async with self.harness.turns.share():
                await self.repeat_until_done(self.replay)
            await asyncio.sleep(PERSON_EVERY)

    async def replay(self) -> None:
        """Replay the posts whose workers were killed three times."""
        for letter in await self.harness.app.store.dead_letters(
            DeadLetterFilter(cause=DeadLetterCause.WORKER_KILLER, limit=100)
        ):
            await self.harness.app.replay(letter.job.id, reason="its workers were killed on purpose")
            self.replayed += 1

    async def repeat_until_done(self, act: Callable[[], Awaitable[object]]) -> None:
        """Repeat an action until no frozen process holds the database; the key makes it the same post."""
        while True:
            try:
                await act()
                return
            except StoreUnreachable:
                self.unanswered += 1
