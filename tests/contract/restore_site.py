"""A database that may be put back, and machines whose processes remember what they sent."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from postino.engine.witness import DatabaseClosed, Witness
from postino.values.database import DatabaseState
from postino.values.job import Job
from postino.values.ledger import IntentEntry
from tests.contract.harness import StoreHarness, make_intent

TABLES = ("jobs", "intents", "steps", "lane_hints", "database_state", "database_eras", "witnesses", "gates")


class Site:
    """A database that may be put back, and machines with a directory for what their processes remember."""

    def __init__(self, harness: StoreHarness, folder: Path, stack: AsyncExitStack) -> None:
        self.harness, self.folder, self.stack = harness, folder, stack

    async def start(self, machine: str = "one", **options: Any) -> Witness:
        """Start a process on a machine; None is a machine that cannot remember."""
        state_dir = self.folder / machine if machine else None
        witness = Witness(self.harness.store, state_dir, **options)
        self.stack.push_async_callback(witness.close)
        await self.look(witness)
        return witness

    async def look(self, witness: Witness) -> DatabaseState:
        memory = witness.memory
        await witness.check(await witness.read_state(), memory)
        return await self.harness.store.database_state()

    async def pulse(self, *witnesses: Witness, times: int = 1) -> None:
        for _ in range(times):
            self.harness.clock.turn(seconds=31)
            for witness in witnesses:
                await self.look(witness)

    async def send(self, witness: Witness, job: Job, step: str = "post") -> IntentEntry | DatabaseClosed | None:
        intent = make_intent(job, step, account=job.account, channel=job.channel)
        return (await witness.record_intents([intent]))[0]

    def back_up(self) -> None:
        for table in TABLES:
            self.harness.database.sql(f"DROP TABLE IF EXISTS backup_{table}")
            self.harness.database.sql(f"CREATE TABLE backup_{table} AS SELECT * FROM {{{table}}}")

    def put_back(self) -> None:
        """Replace the tables by those of the backup, in place."""
        overriding = "OVERRIDING SYSTEM VALUE" if self.harness.database.dialect == "postgres" else ""
        for table in TABLES:
            self.harness.database.sql(f"DELETE FROM {{{table}}}")
            self.harness.database.sql(f"INSERT INTO {{{table}}} {overriding} SELECT * FROM backup_{table}")

    async def put_back_other_file(self) -> None:
        """Put the backup back as another file of the same name, or as new tables: it names the old place."""
        self.put_back()
        place = json.loads((await self.harness.store.database_state()).place or "")
        place[3 if place[0] == "sqlite" else 4] = "1"
        self.harness.database.sql(f"UPDATE {{database_state}} SET place = '{json.dumps(place)}'")

    def forget_backup(self) -> None:
        for table in TABLES:
            self.harness.database.sql(f"DROP TABLE IF EXISTS backup_{table}")
