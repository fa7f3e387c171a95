"""Worker processes that a test kills and replaces, and the accounts they publish for."""

import asyncio
import random
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from postino.publishing.post_request import PostRequest
from postino.values.content import Content
from postino.values.post import StoredAccount
from tests.crash.publishing.harness import IN_TIME, PublishingHarness
from tests.crash.workers import Process

FAULTS = "faults"


class WorkerPool:
    """A number of worker processes; a killed one is replaced at once."""

    def __init__(self, harness: PublishingHarness, **order: Any) -> None:
        self.harness = harness
        self.order = order
        self.processes: list[Process] = []

    async def start_workers(self, count: int) -> None:
        self.processes += [await self.harness.start(**self.order) for _ in range(count)]

    async def kill(self, victim: Process) -> None:
        self.processes.remove(victim)
        victim.kill()
        await victim.ended
        self.harness.kills += 1

    async def kill_randomly(self, kills: int, every: tuple[float, float], chance: random.Random) -> None:
        """Kill random workers one after the other, and start another for each."""
        for _ in range(kills):
            await asyncio.sleep(chance.uniform(*every))
            await self.kill(chance.choice(self.processes))
            await self.start_workers(1)


@asynccontextmanager
async def run_workers(harness: PublishingHarness, count: int, **order: Any) -> AsyncIterator[WorkerPool]:
    """Run workers during the block and stop them gracefully after it."""
    pool = WorkerPool(harness, **order)
    await pool.start_workers(count)
    yield pool
    await harness.stop(*pool.processes)


async def open_accounts(
    harness: PublishingHarness, network: str, count: int, brand: str | None = None
) -> list[StoredAccount]:
    opened = await asyncio.to_thread(harness.oracle.ask, "accounts", {"network": network, "count": count})
    return [
        await harness.app.accounts.add(
            network,
            known["handle"],
            known["credentials"],
            base_url=f"sandbox:/{network}",
            brand=brand,
            remote_id=known["remote_id"],
        )
        for known in opened["data"]
    ]


async def post_to_all(
    harness: PublishingHarness, accounts: Sequence[StoredAccount], about: str, **wish: Any
) -> datetime:
    """Schedule one post for each account and return when they were accepted."""
    content = Content(body=f"{about}, {secrets.token_hex(4)}")
    written = await harness.app.posts.schedule(
        PostRequest(content=content, accounts=tuple(it.id for it in accounts), **wish)
    )
    accepted_at = datetime.now(UTC)
    by_id = {account.id: account for account in accounts}
    for one in written:
        harness.add_existing(one.post, by_id[one.post.job.account or ""], about)
    return accepted_at


async def add_fault(harness: PublishingHarness, network: str, fault: str, **fields: Any) -> int:
    """Add a fault; without `times` it lasts until it is removed."""
    often = {} if "times" in fields else {"rate": 1}
    added = await asyncio.to_thread(harness.oracle.ask, FAULTS, {"network": network, "fault": fault} | often | fields)
    number: int = added["id"]
    return number


async def remove_fault(harness: PublishingHarness, number: int) -> datetime:
    await asyncio.to_thread(harness.oracle.ask, f"{FAULTS}/{number}", None, "DELETE")
    return datetime.now(UTC)


async def wait_until(ask: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(IN_TIME):
        while not await ask():  # noqa: ASYNC110 - other processes bring it about
            await asyncio.sleep(0.02)


async def wait_until_done(harness: PublishingHarness) -> None:
    """Wait until every post has ended or waits for a person."""

    async def none_moving() -> bool:
        return not await asyncio.to_thread(harness.count_moving)

    await wait_until(none_moving)
