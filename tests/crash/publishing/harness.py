"""Create posts, one account each, on the simulated networks, and run the processes that publish them."""

import asyncio
import json
import secrets
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from postino import Postino
from postino.publishing.post_request import PostRequest
from postino.values.post import StoredAccount, StoredPost
from tests.crash.evidence import last_words, lines
from tests.crash.publishing.faults import SIGN_INS, Fault
from tests.crash.publishing.oracle import Oracle
from tests.crash.publishing.post_shapes import Shape, shape_for
from tests.crash.publishing.program import settings
from tests.crash.sql import SqlConnection, identity
from tests.crash.workers import Process, Workers, workers_on

IN_TIME = 20.0  # seconds a worker may take to reach its point, however busy the machine
FOR_EVER = 30.0  # a lease so long that a worker which lives a moment buries nobody
MOVING = "SELECT count(*) FROM postino.jobs WHERE NOT (state = 'uncertain' AND run_at IS NULL)"
HELD = """
SELECT job.id FROM postino.jobs AS job JOIN postino.workers AS worker ON worker.id = job.claimed_by
WHERE job.state = 'running' AND worker.pid = {pid}
"""


@dataclass(frozen=True, slots=True)
class Posted:
    """A post that was accepted: by whom, and the texts that people must see once each."""

    id: UUID
    shape: Shape
    account: StoredAccount
    parts: tuple[str, ...]
    about: str
    faults: tuple[int, ...] = ()


class PublishingHarness:
    def __init__(self, app: Postino, workers: Workers, oracle: Oracle, sql: SqlConnection) -> None:
        self.app = app
        self.workers = workers
        self.oracle = oracle
        self.sql = sql
        self.posts: list[Posted] = []
        self.kills = 0

    async def open_account(self, network: str, *, named: bool = True) -> StoredAccount:
        """`named`: Postino knows what the network calls it, and need not ask."""
        known = await asyncio.to_thread(self.oracle.open_account, network)
        return await self.app.accounts.add(
            network,
            known["handle"],
            known["credentials"],
            base_url=f"sandbox:/{network}",
            remote_id=known["remote_id"] if named else None,
        )

    async def post(
        self,
        shape: Shape,
        about: str,
        *faults: Fault,
        account: StoredAccount | None = None,
        text: str | None = None,
        **wish: Any,
    ) -> Posted:
        """Accepted, to be published now; its text is like no other unless it is given."""
        account = account or await self.open_account(shape.network)
        struck = tuple([await self.lay(shape.network, fault, account.handle) for fault in faults])
        said = text or f"{shape}, {about}, {secrets.token_hex(4)}"
        content = shape.content(said, self.oracle.url)
        [written] = await self.app.posts.schedule(PostRequest(content=content, accounts=(account.id,), **wish))
        posted = Posted(written.post.job.id, shape, account, shape.texts(said), about, struck)
        self.posts.append(posted)
        return posted

    def adopt(self, post: StoredPost, account: StoredAccount, about: str) -> None:
        """A plain post that was accepted from another process."""
        shape = shape_for(account.network)
        self.posts.append(Posted(post.job.id, shape, account, shape.texts(json.loads(post.content)["body"]), about))

    async def lay(self, network: str, fault: Fault, handle: str | None = None) -> int:
        """The next call that this account makes there goes wrong, or the next of anybody."""
        whose = None if fault.endpoint in SIGN_INS else handle
        return await asyncio.to_thread(self.oracle.fail, network, fault.endpoint, fault.name, whose, fault.params)

    async def start(self, *, crash: str = "", **order: Any) -> Process:
        return await self.workers.start(crash=crash, publishes=True, **{"sandbox": self.oracle.url} | order)

    async def ended(self, process: Process, unless: Callable[[], Awaitable[bool]]) -> bool:
        """Whether it has ended before something else happened."""
        async with asyncio.timeout(IN_TIME):
            while await process.wait(0.05) is None:
                if await unless():
                    return await process.wait(0.05) is not None
        return True

    async def died(self, victim: Process, crash: str) -> None:
        code = await victim.wait(IN_TIME)
        assert code == -signal.SIGKILL, f"{crash} was never reached ({code}): {self.last_words(victim)}"
        self.kills += 1

    def last_words(self, process: Process) -> str:
        return last_words(f"process {process.pid}", lines(self.workers.folder / "log"))

    def held_by(self, victim: Process) -> list[UUID]:
        """The posts that a dead worker had in its hands."""
        return [identity(job) for [job] in self.sql.ask(HELD.format(pid=victim.pid))]

    async def stop(self, *processes: Process) -> None:
        for process in processes:
            process.signal(signal.SIGTERM)
        for process in processes:
            code = await process.wait(IN_TIME)  # the signal itself ends one that has hardly begun
            assert code in (0, -signal.SIGTERM), f"told to stop, a worker does ({code}): {self.last_words(process)}"

    async def settle_all(self, within: float = 120.0, workers: int = 2, **order: Any) -> None:
        """In peace every post comes to its end, or waits for a person."""
        living = [await self.start(**order) for _ in range(workers)]
        async with asyncio.timeout(within):
            while await asyncio.to_thread(self.moving):  # noqa: ASYNC110 - other processes end them
                await asyncio.sleep(0.05)
        await self.stop(*living)

    def moving(self) -> int:
        """How many posts neither have ended nor wait for a person."""
        [[count]] = self.sql.ask(MOVING)
        return int(count)


@asynccontextmanager
async def office_on(forker: str, folder: Path, url: str, oracle: Oracle) -> AsyncIterator[PublishingHarness]:
    """An office with a database of its own."""
    app = Postino(settings({"folder": folder, "url": url, "sandbox": oracle.url}))
    await app.store.migrate()
    async with app, workers_on(forker, folder, url) as workers:
        sql = SqlConnection(url)
        try:
            yield PublishingHarness(app, workers, oracle, sql)
        finally:
            sql.close()
