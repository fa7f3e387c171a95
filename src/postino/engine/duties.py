"""Periodic work, such as pruning, done by whichever worker comes first. There is no scheduler and no leader."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

import structlog

from postino.config import Config, RetentionConfig
from postino.stores.store import Store

log = structlog.get_logger("postino.duty")
CHECK_EVERY = 60.0  # seconds
LEASE = 300.0  # seconds after which another worker may take over a duty
DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Duty:
    name: str
    every: float  # seconds
    action: Callable[[], Awaitable[None]]


class Duties:
    """Checks every minute which duties are due, and does those that no other worker does."""

    def __init__(self, store: Store, holder: str, duties: list[Duty]) -> None:
        self.store = store
        self.holder = holder
        self.duties = duties

    async def run(self) -> None:
        while True:
            for duty in self.duties:
                await self.try_duty(duty)
            await asyncio.sleep(CHECK_EVERY)

    async def try_duty(self, duty: Duty) -> None:
        """Do this duty if it is due and no other worker does it."""
        try:
            if await self.store.take_duty(duty.name, self.holder, seconds=LEASE, every=duty.every):
                await duty.action()
                await self.store.finish_duty(duty.name, self.holder)
        except Exception as error:  # noqa: BLE001 - any failure: the duty is tried again
            log.warning("duty.failed", duty=duty.name, error=str(error), next="tried again within minutes")


async def run_beside(work: Awaitable[None], others: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run the work to its end, and the others until then."""
    tasks = [asyncio.create_task(other) for other in others]
    try:
        await work
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def make_duties(store: Store, config: Config) -> list[Duty]:
    return [
        make_alive_duty(store),
        make_missed_duty(store, config.publishing.give_up_after),
        make_prune_duty(store, config.retention),
    ]


def make_alive_duty(store: Store) -> Duty:
    """Record that the database is in use: a restored backup is recognised by an old record."""

    async def record_alive() -> None:
        await store.record_alive()

    return Duty("record_alive", CHECK_EVERY / 2, record_alive)


def make_missed_duty(store: Store, give_up_after: float) -> Duty:
    """Fail posts whose time to be published has passed."""

    async def fail_missed_posts() -> None:
        for job in await store.fail_missed_posts(give_up_after):
            log.warning("job.missed", job=str(job.id), account=job.account, next="replay it if it still matters")

    return Duty("fail_missed_posts", CHECK_EVERY / 2, fail_missed_posts)


def make_prune_duty(store: Store, retention: RetentionConfig) -> Duty:
    """Delete what is older than the retention settings allow."""

    async def prune() -> None:
        total, pruned = 0, 1
        while pruned:
            pruned = await store.prune(retention)
            total += pruned
            await asyncio.sleep(0)  # let other tasks run
        log.info("duty.done", duty="prune", pruned=total)

    return Duty("prune", DAY, prune)
