"""An app whose database is in memory and whose time is a virtual clock.

It claims, runs, retries and settles jobs by the same code as a worker. Only a test moves its time.
"""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from uuid import UUID

from postino import clock
from postino.app import App
from postino.config import Config, WitnessConfig
from postino.engine.claims import Claims
from postino.engine.relay import Relay
from postino.engine.worker import Worker
from postino.errors import WrongUse
from postino.stores.memory import memory_store
from postino.stores.records import PollResult
from postino.testing.clock import VirtualClock
from postino.values.job import Job
from postino.wiring import Postino

HOLDER = "test"


class MemoryApp(Postino):
    """Has the handlers, listeners and settings of your app, and a database in memory.

    ```python
    async with MemoryApp(app) as memory:
        job = await memory.enqueue("mail", {"to": "ada"})
        await memory.run_due()
    ```

    `sandbox_url` is the address of a sandbox to publish to.
    """

    def __init__(
        self, app: App | None = None, *, clock: VirtualClock | None = None, sandbox_url: str | None = None
    ) -> None:
        self.clock = clock or VirtualClock()
        self._folder = tempfile.TemporaryDirectory(prefix="postino-test-")
        config = app.config if app is not None else Config(data_dir=Path(self._folder.name))
        if sandbox_url is not None:
            config = replace(config, sandbox=replace(config.sandbox, url=sandbox_url))
        # Nothing else has a database in memory, however far its clock is moved.
        config = replace(config, data_dir=Path(self._folder.name), witness=WitnessConfig(trust_database=True))
        super().__init__(config, store=memory_store(self.clock))
        if app is not None:
            self.handlers.update({name: handler for name, handler in app.handlers.items() if name not in self.handlers})
            self.listeners.extend(app.listeners)

    async def close(self) -> None:
        await super().close()
        self._folder.cleanup()

    async def work(self, *, stop: asyncio.Event | None = None) -> None:
        """Raise WrongUse: a worker would wait for ever, because the clock does not move."""
        raise WrongUse("An app in memory has no worker. Call `run_due` or `run_until` instead.")

    async def run_due(self) -> list[Job]:
        """Run every job that is due, and every job that becomes due meanwhile, without moving the clock.

        Then deliver events to listeners. Return the jobs that ran, in the order of their start, as they are now.
        """
        await self.open()
        async with self._parts.make_http() as http:
            worker = self.make_worker(http)
            await worker.register()
            await self.apply_settings()
            try:
                started = await self._run_turns(worker)
            finally:
                await self.store.unregister_worker(worker.id)
        await self._deliver_events()
        return [await self.store.job(job_id) for job_id in dict.fromkeys(started)]

    async def run_until(self, at: datetime) -> list[Job]:
        """Move the clock to a time, and on the way to every time at which a job is due. Return the jobs that ran."""
        jobs = {job.id: job for job in await self.run_due()}
        while (due_at := await self._find_next_due()) is not None and self.clock.now < due_at <= at:
            self.clock.move_to(due_at)
            jobs |= {job.id: job for job in await self.run_due()}
        self.clock.move_to(at)
        jobs |= {job.id: job for job in await self.run_due()}
        return [*jobs.values()]

    async def _run_turns(self, worker: Worker) -> Sequence[UUID]:
        started: list[UUID] = []
        while True:
            poll = await poll_again(worker)
            claimed = await worker.claim(poll)
            if not claimed and not poll.hinted:
                return started
            started += [job.id for job in claimed]
            worker.runner.start(claimed)
            await worker.runner.wait_until_ended()
            await worker.circuits.flush()

    async def _find_next_due(self) -> datetime | None:
        claims = Claims(self.store, clock.monotonic, types=self.handlers)
        poll = await claims.poll(HOLDER, heartbeat=False)
        wait = claims.time_to_next(poll)
        return None if wait is None else poll.now + wait

    async def _deliver_events(self) -> None:
        for listener in self.listeners:
            relay = Relay(self.store, replace(listener, from_start=True), HOLDER, poll=0)
            while await relay.deliver_batch():
                pass


async def poll_again(worker: Worker) -> PollResult:
    """Poll the store from the beginning of every queue, whatever the worker remembers of its last poll."""
    worker.next_heartbeat_at = worker.claims.sweep_at = 0.0
    return await worker.poll()
