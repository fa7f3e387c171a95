"""Periodic work, done by whichever worker comes first: no scheduler, no leader."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

import structlog

from postino.config import Config, RetentionConfig
from postino.stores.store import Store

log = structlog.get_logger("postino.duty")
LOOK_EVERY = 60.0
HELD_FOR = 300.0
DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Duty:
    name: str
    every: float  # seconds
    act: Callable[[], Awaitable[None]]


class Duties:
    """Looks now and then whether a duty is due that nobody does."""

    def __init__(self, store: Store, holder: str, duties: list[Duty]) -> None:
        self.store = store
        self.holder = holder
        self.duties = duties

    async def run(self) -> None:
        while True:
            for duty in self.duties:
                await self.attempt(duty)
            await asyncio.sleep(LOOK_EVERY)

    async def attempt(self, duty: Duty) -> None:
        try:
            taken = await self.store.take_duty(duty.name, self.holder, seconds=HELD_FOR, every=duty.every)
            if taken:
                await duty.act()
                await self.store.finish_duty(duty.name, self.holder)
        except Exception as error:  # noqa: BLE001 - it is periodic work: whatever went wrong may go right next time
            log.warning("duty.failed", duty=duty.name, error=str(error), next="tried again within minutes")


async def run_beside(work: Awaitable[None], others: Iterable[Coroutine[Any, Any, None]]) -> None:
    """The work to its end, and the others as long as it lasts."""
    tasks = [asyncio.create_task(other) for other in others]
    try:
        await work
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def all_duties(store: Store, config: Config) -> list[Duty]:
    return [pulsing(store), missing(store, config.publishing.give_up_after), pruning(store, config.retention)]


def pulsing(store: Store) -> Duty:
    """So that a later look can tell a database that rested from one that was brought back from an earlier day."""

    async def pulse() -> None:
        await store.record_alive()

    return Duty("pulse", LOOK_EVERY / 2, pulse)


def missing(store: Store, give_up_after: float) -> Duty:
    """Fails posts that were to be out by now, whatever keeps them from running."""

    async def miss() -> None:
        missed = await store.fail_missed_posts(give_up_after)
        for job in missed:
            log.warning("job.missed", job=str(job.id), account=job.account, next="replay it if it still matters")

    return Duty("miss", LOOK_EVERY / 2, miss)


def pruning(store: Store, kept: RetentionConfig) -> Duty:
    async def prune() -> None:
        total, pruned = 0, 1
        while pruned:
            pruned = await store.prune(kept)
            total += pruned
            await asyncio.sleep(0)  # let others in between
        log.info("duty.done", duty="prune", pruned=total)

    return Duty("prune", DAY, prune)
