"""Create posts, one account each, on the simulated networks, and run the processes that publish them."""

import asyncio
import json
import secrets
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from postino import Postino
from postino.publishing.post_request import PostRequest
from postino.values.post import StoredAccount, StoredPost
from tests.crash.evidence import lines, read_log_tail
from tests.crash.publishing.faults import UNSIGNED, Fault
from tests.crash.publishing.oracle import Oracle
from tests.crash.publishing.post_shapes import Shape, get_shape
from tests.crash.publishing.program import settings
from tests.crash.publishing.turns import Turns
from tests.crash.sql import SqlConnection, to_uuid
from tests.crash.workers import Process, Workers, open_workers

IN_TIME = 60.0  # seconds that a worker may take to reach its crash point on a busy machine
FOR_EVER = 2 * IN_TIME  # a lease so long that a short-lived worker rescues no jobs
MOVING = "SELECT count(*) FROM postino.jobs WHERE NOT (state = 'uncertain' AND run_at IS NULL)"
HELD = """
SELECT job.id FROM postino.jobs AS job JOIN postino.workers AS worker ON worker.id = job.claimed_by
WHERE job.state = 'running' AND worker.pid = {pid}
"""


@dataclass(frozen=True, slots=True)
class AcceptedPost:
    """An accepted post: its account, and the texts that must be live once each, not before `due_at`.

    None of them may be live if it was cancelled. Where a restored backup lost an edit, the edited texts may be live
    instead.
    """

    id: UUID
    shape: Shape
    account: StoredAccount
    parts: tuple[str, ...]
    about: str
    faults: tuple[int, ...] = ()
    due_at: datetime | None = None
    cancelled: bool = False
    lost_texts: tuple[tuple[str, ...], ...] = ()

    @property
    def versions(self) -> tuple[tuple[str, ...], ...]:
        """Return the texts of all parts, with those that may be live instead."""
        return (self.parts, *self.lost_texts)


class PublishingHarness:
    def __init__(self, app: Postino, workers: Workers, oracle: Oracle, sql: SqlConnection) -> None:
        self.app = app
        self.workers = workers
        self.oracle = oracle
        self.sql = sql
        self.posts: list[AcceptedPost] = []
        self.forgotten: dict[UUID, AcceptedPost] = {}  # accepted after a backup that was put back
        self.restored: set[UUID] = set()  # in a backup that was put back
        self.restored_at: datetime | None = None
        self.turns = Turns()
        self.kills = 0

    async def open_account(self, network: str, *, named: bool = True, brand: str | None = None) -> StoredAccount:
        """Open an account; with `named`, Postino knows its remote id."""
        known = await asyncio.to_thread(self.oracle.open_account, network)
        return await self.app.accounts.add(
            network,
            known["handle"],
            known["credentials"],
            base_url=f"sandbox:/{network}",
            brand=brand,
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
    ) -> AcceptedPost:
        """Schedule a post for now, with a unique text unless one is given."""
        account = account or await self.open_account(shape.network)
        fault_ids = tuple([await self.add_fault(shape.network, fault, account.handle) for fault in faults])
        unique_text = text or f"{shape}, {about}, {secrets.token_hex(4)}"
        content = shape.content(unique_text, self.oracle.url)
        [scheduled] = await self.app.posts.schedule(PostRequest(content=content, accounts=(account.id,), **wish))
        parts = shape.texts(unique_text)
        posted = AcceptedPost(scheduled.post.job.id, shape, account, parts, about, fault_ids, wish.get("at"))
        self.posts.append(posted)
        return posted

    def add_existing(self, post: StoredPost, account: StoredAccount, about: str) -> None:
        """Add a plain post that another process scheduled."""
        shape = get_shape(account.network)
        self.posts.append(
            AcceptedPost(post.job.id, shape, account, shape.texts(json.loads(post.content)["body"]), about)
        )

    def find(self, post_id: UUID) -> AcceptedPost:
        return next(posted for posted in self.posts if posted.id == post_id)

    def change(self, posted: AcceptedPost, **changes: Any) -> None:
        """Record what an accepted act changes about a post."""
        if posted.id in self.restored and "parts" in changes:  # it may have been published, unknown to the backup
            changes["lost_texts"] = (*posted.lost_texts, posted.parts)
        self.posts = [replace(it, **changes) if it.id == posted.id else it for it in self.posts]

    def go_back(self, then: Sequence[AcceptedPost]) -> None:
        """Record that a backup was put back which was made when these posts were accepted."""
        latest = self.forgotten | {posted.id: posted for posted in self.posts}
        self.posts = [forget_changes(posted, latest[posted.id]) for posted in then]
        self.restored = {posted.id for posted in then}
        self.forgotten = {it: posted for it, posted in latest.items() if it not in self.restored}
        self.restored_at = datetime.now(UTC)
        self.sql.reopen()

    async def add_fault(self, network: str, fault: Fault, handle: str | None = None) -> int:
        """Add a fault for the next call of this account, or of any account."""
        whose = None if fault.endpoint in UNSIGNED else handle
        return await asyncio.to_thread(self.oracle.fail, network, fault.endpoint, fault.name, whose, fault.params)

    async def start(self, *, crash: str = "", **order: Any) -> Process:
        return await self.workers.start(crash=crash, publishes=True, **{"sandbox": self.oracle.url} | order)

    async def has_died(self, process: Process, unless: Callable[[], Awaitable[bool]]) -> bool:
        """Return whether the process died at its crash point; stop it if the other condition becomes true first."""
        async with asyncio.timeout(IN_TIME):
            while await process.wait(0.05) is None:
                if await unless():
                    process.signal(signal.SIGTERM)  # it may still reach its crash point
                    break
            return await process.ended == -signal.SIGKILL

    async def expect_death(self, victim: Process, crash: str) -> None:
        code = await victim.wait(IN_TIME)
        assert code == -signal.SIGKILL, f"{crash} was never reached ({code}): {self.read_log_tail(victim)}"
        self.kills += 1

    def read_log_tail(self, process: Process) -> str:
        return read_log_tail(f"process {process.pid}", lines(self.workers.folder / "log"))

    def list_claimed_posts(self, victim: Process) -> list[UUID]:
        """Return the posts that a dead worker had claimed."""
        return [to_uuid(job) for [job] in self.sql.ask(HELD.format(pid=victim.pid))]

    async def stop(self, *processes: Process) -> None:
        for process in processes:
            process.signal(signal.SIGTERM)
        for process in processes:
            code = await process.wait(IN_TIME)  # the signal itself ends a worker that has hardly started
            assert code in (0, -signal.SIGTERM), (
                f"a worker did not stop on SIGTERM ({code}): {self.read_log_tail(process)}"
            )

    async def settle_all(self, within: float = 120.0, workers: int = 2, **order: Any) -> None:
        """Run workers until every post has ended or waits for a person."""
        living = [await self.start(**order) for _ in range(workers)]
        async with asyncio.timeout(within):
            while await asyncio.to_thread(self.count_moving):  # noqa: ASYNC110 - other processes end them
                await asyncio.sleep(0.05)
        await self.stop(*living)

    def count_moving(self) -> int:
        """Count the posts that have not ended and do not wait for a person."""
        [[count]] = self.sql.ask(MOVING)
        return int(count)


def forget_changes(then: AcceptedPost, now: AcceptedPost) -> AcceptedPost:
    """Return a post after its changes were lost: what was published before that stays."""
    texts = dict.fromkeys([*then.lost_texts, *now.versions])
    texts.pop(then.parts, None)
    due_at = min(then.due_at, now.due_at) if then.due_at and now.due_at else None
    return replace(then, due_at=due_at, lost_texts=(*texts,))


@asynccontextmanager
async def open_harness(forker: str, folder: Path, url: str, oracle: Oracle) -> AsyncIterator[PublishingHarness]:
    """Open a harness on this database."""
    app = Postino(settings({"folder": folder, "url": url, "sandbox": oracle.url}))
    await app.store.migrate()
    async with app, open_workers(forker, folder, url) as workers:
        sql = SqlConnection(url)
        try:
            yield PublishingHarness(app, workers, oracle, sql)
        finally:
            sql.close()
