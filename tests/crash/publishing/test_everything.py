"""kill -9 of all processes right after a post was accepted: it is stored, and published once."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest

from postino.values.post import PostFilter, StoredAccount
from tests.crash.publishing.harness import IN_TIME, PublishingHarness, open_harness
from tests.crash.publishing.oracle import Oracle
from tests.crash.publishing.post_shapes import NETWORKS
from tests.crash.publishing.verdict import judge
from tests.servers.postgres import PostgresServer

LATER = (0.0, 0.01, 0.03, 0.1)  # seconds between the acceptance of a post and the end of everything


@dataclass(frozen=True)
class World:
    """All processes: the networks, the database and the workers."""

    forker: str
    folder: Path
    oracle: Oracle
    server: PostgresServer | None
    url: str

    @asynccontextmanager
    async def harness(self) -> AsyncIterator[PublishingHarness]:
        async with open_harness(self.forker, self.folder, self.url, self.oracle) as harness:
            yield harness

    def end(self) -> None:
        self.oracle.kill()
        if self.server is not None:
            self.server.kill()

    def begin_again(self) -> None:
        self.oracle.start()
        if self.server is not None:
            self.server.start()

    def list_accepted(self) -> list[UUID]:
        path = self.folder / "record"
        lines = path.read_text().splitlines() if path.exists() else []
        return [UUID(line.split()[1]) for line in lines if line.startswith("accepted ")]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def world(request: pytest.FixtureRequest, forker_address: str, tmp_path: Path) -> World:
    if request.param == "sqlite":
        return World(forker_address, tmp_path, Oracle(tmp_path), None, f"sqlite:///{tmp_path}/postino.db")
    server: PostgresServer = request.getfixturevalue("private_postgres")
    return World(forker_address, tmp_path, Oracle(tmp_path), server, server.create_database())


@pytest.mark.crash
async def test_accepted_post_survives_the_death_of_all_processes(
    world: World, chance: random.Random, full_sweep: bool
) -> None:
    accounts: list[StoredAccount] = []
    ends = LATER if full_sweep else [chance.choice(LATER)]
    with world.oracle:
        for later in ends:
            async with world.harness() as harness:
                new_accounts = [await harness.open_account(network) for network in NETWORKS]
                accounts += new_accounts
                await end_everything(world, harness, new_accounts, later)
            world.begin_again()
        async with world.harness() as harness:
            await add_all_existing(harness, accounts)
            missing = set(world.list_accepted()) - {posted.id for posted in harness.posts}
            assert not missing, "accepted posts are missing"
            assert len(world.list_accepted()) >= len(ends) * len(NETWORKS)
            await harness.settle_all()
            verdict = await judge(harness)
            assert (verdict.violations, verdict.left_to_person) == ([], {})


async def end_everything(world: World, harness: PublishingHarness, accounts: list[StoredAccount], later: float) -> None:
    """Kill all processes soon after a post was accepted, while workers may be publishing it."""
    workers = [await harness.start() for _ in range(2)]
    known = len(world.list_accepted())
    names = [account.id for account in accounts]
    caller = await harness.start(wants=f"before the end after {later} s", accounts=names, stays=60.0)
    async with asyncio.timeout(IN_TIME):
        while len(world.list_accepted()) == known:  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.001)
    await asyncio.sleep(later)
    for process in (caller, *workers):
        process.kill()
    world.end()
    for process in (caller, *workers):
        await process.ended


async def add_all_existing(harness: PublishingHarness, accounts: list[StoredAccount]) -> None:
    """Add all stored posts, whether or not their caller got a response."""
    for account in accounts:
        for post in await harness.app.posts.list(PostFilter(account=account.id)):
            harness.add_existing(post, account, "before the end")
