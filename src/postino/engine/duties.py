"""Periodic work, such as pruning, done by whichever worker comes first. There is no scheduler and no leader."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog

from postino.config import Config, RetentionConfig
from postino.engine.event_monitor import EventMonitor
from postino.engine.witness import Witness
from postino.engine.worker import Worker
from postino.stores.store import Store

log = structlog.get_logger("postino.duty")
CHECK_EVERY = 60.0  # seconds
LEASE = 300.0  # seconds after which another worker may take over a duty
DAY = 86400.0
UNREACHABLE_ADVICE = "its lane is looked at again now, so it runs; this is a bug in Postino: please report it"


@dataclass(frozen=True, slots=True)
class Duty:
    name: str
    every: float  # seconds
    action: Callable[[], Awaitable[None]]
    may_run: Callable[[], bool] = lambda: True


class Duties:
    """Checks every minute which duties are due, and does those that no other worker does.

    Not before `checked`: duties change a database, which may be a restored backup.
    """

    def __init__(self, store: Store, holder: str, duties: list[Duty], checked: asyncio.Event) -> None:
        self.store = store
        self.holder = holder
        self.duties = duties
        self.checked = checked

    async def run(self) -> None:
        await self.checked.wait()
        while True:
            for duty in self.duties:
                if duty.may_run():
                    await self.try_duty(duty)
            await asyncio.sleep(CHECK_EVERY)

    async def try_duty(self, duty: Duty) -> None:
        """Do this duty if it is due and no other worker does it."""
        try:
            if await self.store.take_duty(duty.name, self.holder, seconds=LEASE, every=duty.every):
                await duty.action()
                await self.store.finish_duty(duty.name, self.holder)
        except Exception as error:  # noqa: BLE001 - any failure: the duty is tried again
            log.warning("duty.failed", duty=duty.name, error=str(error), next="a worker tries again within minutes")


def start_background(worker: Worker, config: Config) -> list[Coroutine[Any, Any, None]]:
    """Return the background tasks of a worker process."""
    monitor = EventMonitor(worker.store, config.database.transaction_warning)
    duties = make_duties(worker.store, config, worker.witness)
    return [Duties(worker.store, worker.id, duties, worker.witness.checked).run(), monitor.run()]


async def run_beside(work: Awaitable[None], others: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run the work to its end, and the others until then. Log an error that ends one of the others early."""
    tasks = [asyncio.create_task(report_failure(other)) for other in others]
    try:
        await work
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def report_failure(work: Coroutine[Any, Any, None]) -> None:
    """Run a background task, and log why it ends early."""
    try:
        await work
    except Exception:
        log.exception(
            "background.failed",
            task=getattr(work, "__qualname__", ""),
            next="restart the worker: this part of it has ended",
        )


def make_duties(store: Store, config: Config, witness: Witness) -> list[Duty]:
    return [
        make_missed_duty(store, config.publishing.give_up_after, witness),
        make_unreachable_duty(store),
        make_prune_duty(store, config.retention),
    ]


def make_missed_duty(store: Store, give_up_after: float, witness: Witness) -> Duty:
    """Fail posts whose time to be published has passed, while the worker knows that they were not published."""

    async def fail_missed_posts() -> None:
        for job in await store.fail_missed_posts(give_up_after, witness.memory):
            log.warning(
                "job.missed", job=str(job.id), account=job.account, next="replay the job if the post is still wanted"
            )

    return Duty("fail_missed_posts", CHECK_EVERY / 2, fail_missed_posts, lambda: witness.memory is not None)


def make_unreachable_duty(store: Store) -> Duty:
    """Find jobs that no claim would ever find, log each once, and insert hints for their lanes."""
    reported: set[UUID] = set()

    async def hint_unreachable_jobs() -> None:
        for job in await store.hint_unreachable_jobs():
            if job.id not in reported:
                reported.add(job.id)
                log.error(
                    "job.unreachable", job=str(job.id), type=job.type, account=job.account, next=UNREACHABLE_ADVICE
                )

    return Duty("hint_unreachable_jobs", CHECK_EVERY / 2, hint_unreachable_jobs)


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
