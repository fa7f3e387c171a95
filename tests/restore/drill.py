"""A drill: one database, the simulated networks that keep what was sent, and workers on machines of our choice."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from postino import Job
from postino.engine.store_retry import retry_store
from postino.engine.witness_file import WitnessFile
from postino.errors import StoreUnreachable
from postino.stores.records import AuditContext
from postino.values.database import DatabaseAnswer
from postino.values.job import State
from tests.crash.publishing.harness import AcceptedPost, PublishingHarness, open_harness
from tests.crash.publishing.oracle import Oracle
from tests.crash.publishing.post_shapes import get_shape
from tests.crash.sql import SqlConnection
from tests.crash.verdict import list_unreachable
from tests.crash.workers import Process
from tests.restore.places import Place

WITHIN = 60.0  # seconds on a busy machine
# Leases and timeouts that a worker keeps on a busy machine: no drill is about a late heartbeat or a slow response.
BUSY_MACHINE = {"lease": 3.0, "patience": 0.1, "send_within": 2.0}
HEARTBEATS = "SELECT id, heartbeats FROM postino.workers"
CHANGES = "SELECT action FROM postino.audit WHERE subject = 'database' ORDER BY seq"
ME = AuditContext("maria", "I looked")
ASKABLE, SILENT = "bluesky", "telegram"  # a network that can be asked what it has, and one that cannot
KEYED = "mastodon"  # can be asked, and forgets its idempotency keys


class Drill:
    """What stays while processes come and go: the database, the networks, and the directories of the machines."""

    def __init__(self, forker: str, folder: Path, place: Place, oracle: Oracle) -> None:
        self.forker = forker
        self.folder = folder
        self.place = place
        self.oracle = oracle
        self.posts: list[AcceptedPost] = []
        self.kills = 0

    def forget_machines(self) -> None:
        """Remove the machines' directories: some megabytes for each process that published."""
        shutil.rmtree(self.folder / "machines", ignore_errors=True)

    def get_state_dir(self, machine: str) -> Path:
        return self.folder / "machines" / machine

    def forget_machine(self, machine: str) -> None:
        """Delete what the processes of a machine remember."""
        shutil.rmtree(self.get_state_dir(machine))

    def age_memory(self, machine: str, hours: float) -> None:
        """Move back what a machine that has sent nothing remembers, as if nothing had happened for so long."""
        for path in (self.get_state_dir(machine) / "witness").glob("*/*"):
            file = WitnessFile.open(path.parents[2], path.parent.name)
            contents = file.read()
            assert contents.header is not None
            assert not contents.records, "the times of its records are not moved"
            file.write_header(replace(contents.header, alive_at=contents.header.alive_at - timedelta(hours=hours)))
            file.close()

    @property
    def data_dir(self) -> Path:
        """Return the directory of the settings, the keys and the log."""
        return self.folder / "logs"

    def read_log(self) -> str:
        return (self.data_dir / "log").read_text(errors="replace")

    @asynccontextmanager
    async def open(self, url: str | None = None) -> AsyncIterator["Site"]:
        """Open the database for a while. At the end nobody has it open."""
        self.data_dir.mkdir(exist_ok=True)
        async with open_harness(self.forker, self.data_dir, url or self.place.url, self.oracle) as harness:
            harness.posts = self.posts
            site = Site(self, harness)
            yield site
            await harness.stop(*site.living)
            self.kills += harness.kills
            assert await retry_store(lambda _: list_unreachable(harness.app.store)) == []

    async def run(self, change: Callable[[], object]) -> None:
        """Do something to the database while nobody has it open."""
        await asyncio.to_thread(change)


class Site:
    """The database while it is in use."""

    def __init__(self, drill: Drill, harness: PublishingHarness) -> None:
        self.drill = drill
        self.harness = harness
        self.living: list[Process] = []

    async def start(self, machine: str = "one", **order: Any) -> Process:
        """Start a worker on a machine."""
        state_dir = str(self.drill.get_state_dir(machine))
        process = await self.harness.start(**BUSY_MACHINE | {"state_dir": state_dir} | order)
        self.living.append(process)
        return process

    async def stop(self, *processes: Process) -> None:
        await self.harness.stop(*processes)
        self.living = [process for process in self.living if process not in processes]

    async def schedule(self, *networks: str, hours: float | None = None) -> list[AcceptedPost]:
        """Schedule a post for each network: now, or in so many hours."""
        at: dict[str, Any] = {} if hours is None else {"at": datetime.now(UTC) + timedelta(hours=hours)}
        return [await self.harness.post(get_shape(network), "drill", **at) for network in networks]

    async def job(self, posted: AcceptedPost) -> Job:
        return await self.harness.app.store.job(posted.id)

    def count_live(self, posted: AcceptedPost) -> int:
        """Return how often the post is live on its network."""
        live = self.drill.oracle.list_live_posts()
        return sum((it.account, it.text) == (posted.account.handle, posted.parts[0]) for it in live)

    async def wait_until(self, condition: Callable[[], Awaitable[object]], what: str) -> None:
        try:
            async with asyncio.timeout(WITHIN):
                while not await is_met(condition):  # noqa: ASYNC110 - other processes bring it about
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"never: {what}\n{await self.describe()}") from None

    async def describe(self) -> str:
        log = self.drill.read_log()[-5000:]
        state = await self.harness.app.store.database_state()
        jobs = [await self.job(posted) for posted in self.drill.posts]
        return "\n".join(
            [str(state), *(f"{it.channel}: {it.state}, {it.run_at}, {it.deferral_reason}" for it in jobs), log]
        )

    async def wait_for_state(self, state: State, *posts: AcceptedPost) -> None:
        async def have_state() -> bool:
            return all([(await self.job(posted)).state is state for posted in posts])

        await self.wait_until(have_state, f"all posts {state}")

    async def wait_for_standing(self, standing: str, cause: str | None = None) -> None:
        async def is_standing() -> bool:
            state = await self.harness.app.store.database_state()
            return state.standing == standing and cause in (None, state.cause)

        await self.wait_until(is_standing, f"standing {standing}, cause {cause}")

    async def wait_for_person(self, *posts: AcceptedPost) -> None:
        """Wait until these posts wait for a person."""

        async def do_wait() -> bool:
            jobs = [await self.job(posted) for posted in posts]
            return all(job.state is State.UNCERTAIN and job.run_at is None for job in jobs)

        await self.wait_until(do_wait, "all posts wait for a person")

    async def wait_for_log(self, line: str) -> None:
        async def is_there() -> bool:
            return line in self.drill.read_log()

        await self.wait_until(is_there, f"a line with {line}")

    async def wait_for_heartbeats(self, count: int = 3) -> None:
        """Wait until every living worker has looked at the database so many times."""
        first: dict[str, int] = {}

        async def have_grown() -> bool:
            now = await asyncio.to_thread(self.read_heartbeats)
            for worker, heartbeats in now.items():
                first.setdefault(worker, heartbeats)
            return len(now) >= len(self.living) and all(now[it] >= first[it] + count for it in now)

        await self.wait_until(have_grown, f"{count} heartbeats")

    def read_heartbeats(self) -> dict[str, int]:
        return {worker: int(heartbeats) for worker, heartbeats in self.ask(HEARTBEATS)}

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        sql = SqlConnection(self.harness.workers.url)  # the database may be another one than before
        try:
            return sql.ask(query)
        finally:
            sql.close()

    def list_changes(self) -> list[str]:
        """Return what the audit trail says about the database: `asked`, `roll_call`, `open` and the answers."""
        return [action.removeprefix("database.") for [action] in self.ask(CHANGES)]

    async def expect_no_question(self) -> None:
        """Check that no person was ever asked about this database."""
        changes = await asyncio.to_thread(self.list_changes)
        assert "asked" not in changes, await self.describe()

    async def expect_roll_call(self) -> None:
        """Wait until a roll call has ended, and check that no person was asked."""

        async def has_ended() -> bool:
            return (await asyncio.to_thread(self.list_changes))[-2:] == ["roll_call", "open"]

        await self.wait_until(has_ended, "a roll call")
        await self.expect_no_question()

    async def standing(self) -> str:
        return (await self.harness.app.store.database_state()).standing

    async def answer(self, answer: DatabaseAnswer, since_at: datetime | None = None) -> None:
        """Say what the database is, as `postino database accept` does."""
        store = self.harness.app.store
        await retry_store(lambda _: store.accept_database(answer, since_at, uuid4().hex, uuid4().hex, ME))

    async def expect_published_once(self, *posts: AcceptedPost) -> None:
        """Wait until the posts are published, and check that each is live once and that nobody was asked."""
        await self.wait_for_state(State.COMPLETED, *posts)
        await self.expect_live_once(*posts)
        assert await self.standing() == "open"

    async def expect_live_once(self, *posts: AcceptedPost) -> None:
        counts = [await asyncio.to_thread(self.count_live, posted) for posted in posts]
        assert counts == [1] * len(posts), f"live {counts} times\n{await self.describe()}"

    async def expect_nothing_sent(self, *posts: AcceptedPost) -> None:
        """Give the workers time to send, and check that they do not."""
        await self.wait_for_heartbeats()
        assert [await asyncio.to_thread(self.count_live, posted) for posted in posts] == [0] * len(posts)


async def is_met(condition: Callable[[], Awaitable[object]]) -> bool:
    """Return whether the condition is met; a database that was just replaced is asked again."""
    try:
        return bool(await condition())
    except (StoreUnreachable, psycopg.OperationalError):
        return False
