"""Backups that an operator makes and puts back at random times during a chaos run, with the answer `restored`."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import uuid4

from postino.engine.store_retry import retry_forever
from postino.errors import Conflict
from postino.stores.records import AuditContext
from postino.values.database import DatabaseAnswer, Standing
from tests.crash.publishing.backups import Backup
from tests.crash.publishing.harness import PublishingHarness

BETWEEN = (0.5, 6.0)  # seconds between a backup, its restore and the next backup
KEPT = 3  # backups; an older one may be put back after a newer one, and twice
SLOW = 0.4  # seconds until the operator answers, on average
OPERATOR = AuditContext("operator", "a backup was put back")


class Restores:
    """Puts backups back, with workers running or not, and answers as soon as Postino asks, or before."""

    def __init__(self, harness: PublishingHarness, folder: Path, seed: int) -> None:
        self.harness = harness
        self.folder = folder
        self.chance = random.Random(f"{seed} restores")
        self.backups: list[Backup] = []
        self.made = 0
        self.closed = False
        self.counts: Counter[str] = Counter()

    async def restore_repeatedly(self, open_gates: Callable[[], Awaitable[None]]) -> None:
        """Make backups and put them back until closed; then open the gates that are closed in a backup."""
        while not self.closed:
            for act in (self.back_up, self.put_back):
                async with self.harness.turns.take():
                    await act()
                await asyncio.sleep(self.chance.uniform(*BETWEEN))
            async with self.harness.turns.share():
                await open_gates()

    async def back_up(self) -> None:
        """Make a backup. The first one may be from before any worker has used the database."""
        self.made += 1
        backup = Backup(self.harness.workers.url, self.folder / f"backup {self.made}", tuple(self.harness.posts))
        await asyncio.to_thread(backup.make, is_old=self.chance.random() < 0.6)
        self.backups = [*self.backups[1 - KEPT :], backup]

    async def put_back(self) -> None:
        """Put a backup back, mostly the newest."""
        if not self.backups:
            return
        backup = self.backups[-1] if self.chance.random() < 0.7 else self.chance.choice(self.backups)
        is_stopped, answers_first = self.chance.random() < 0.4, self.chance.random() < 0.4
        if is_stopped:
            await self.kill_workers()
        await asyncio.to_thread(backup.put_back)
        self.harness.go_back(backup.posts)
        self.counts["restores, workers stopped" if is_stopped else "restores, workers running"] += 1
        if answers_first:
            await self.answer("restored, before the question")

    async def kill_workers(self) -> None:
        for process in [*self.harness.workers.alive.values()]:
            process.kill()
            await process.ended

    async def answer_repeatedly(self) -> None:
        """Say that the database was restored, whenever Postino asks."""
        while True:
            state = await retry_forever(self.harness.app.store.database_state)
            if state.standing is Standing.ASKED:
                await asyncio.sleep(self.chance.expovariate(1 / SLOW))
                async with self.harness.turns.take():
                    await self.answer(f"restored, asked for {state.cause}")
            await asyncio.sleep(0.1)

    async def answer(self, what: str) -> None:
        store, era = self.harness.app.store, uuid4().hex
        try:
            await retry_forever(
                lambda: store.accept_database(DatabaseAnswer.RESTORED, None, uuid4().hex, era, OPERATOR)
            )
        except Conflict:
            what = "restored, refused"  # no worker has used the database
        self.harness.restored |= {posted.id for posted in self.harness.posts}
        self.counts[what] += 1
