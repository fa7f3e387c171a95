"""The ledger of one job while it runs: steps it has done, intents it has committed, receipts it has got.

Every write is fenced by the claim's token. A write that another worker's claim forbids ends the run.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, NoReturn

import structlog

from postino.engine.store_retry import retry_store
from postino.engine.witness import DatabaseClosed
from postino.errors import StoreUnreachable
from postino.rules.gates import wait_for_gate
from postino.rules.ledger import can_be_live, map_positions
from postino.stores.store import Store
from postino.values.gate import Gate
from postino.values.job import Job
from postino.values.ledger import IntentEntry, Ledger, NewIntent, ReceiptEntry, RecordedReceipt, StepEntry
from postino.values.outcome import Defer, Outcome, Reject, Unknown

log = structlog.get_logger("postino.ledger")
RECEIPT_RETRY_SECONDS = 60.0  # longer than other writes: a receipt that is lost here is known nowhere else
WriteIntent = Callable[[NewIntent], Awaitable[IntentEntry | DatabaseClosed | None]]


class StopRun(BaseException):
    """Ends a run with this outcome. Not an Exception, so that a handler's `except Exception` does not catch it."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome


class JobLedger:
    """Reads and writes the ledger of one job, and holds the job as it is now."""

    def __init__(self, store: Store, write_intent: WriteIntent, job: Job) -> None:
        self.store = store
        self.write_intent = write_intent
        self.job = job
        self.limit: float | None = None  # seconds from the start of a step to the job's deadline
        self.progress_at = 0.0  # when the last step began, or data of its request last moved
        self.entered: list[str] = []  # names of this run's steps, in order
        self.entries: Ledger | None = None
        self.has_called_service = False
        self.has_fetched_media = False

    def mark_service_called(self) -> None:
        """Note that this run has called its service through our HTTP client."""
        self.has_called_service = True

    def mark_media_fetched(self) -> None:
        """Note that this run has downloaded from a URL that a person gave."""
        self.has_fetched_media = True

    async def load(self) -> Ledger:
        """Return the ledger; read it from the store the first time."""
        if self.entries is None:
            self.entries = await retry_store(lambda _: self.store.ledger(self.job.id))
        return self.entries

    async def enter_step(self, name: str) -> int:
        """Begin the next step and return its position. End the run if the steps differ from those of earlier runs.

        The job is rejected, or, if some of it may be live, a person decides: a backup may have brought back a post as
        it was before an edit.
        """
        if name in self.entered:
            reason = f"Two steps of {self.job.type} have the same name, {name!r}. Give each step its own name."
            raise StopRun(Reject(reason))
        position = len(self.entered)
        self.entered.append(name)
        earlier = map_positions(await self.load())
        if earlier.get(position, name) != name:
            reason = f"The steps of {self.job.type} have changed since this job ran before: step {position + 1} was"
            reason = f"{reason} {earlier[position]!r} and is now {name!r}."
            raise StopRun(Unknown(reason) if can_be_live(await self.load()) else Reject(reason))
        return position

    def find_step(self, name: str) -> StepEntry | None:
        """Return the stored entry of a step."""
        assert self.entries is not None
        return next((entry for entry in self.entries.steps if entry.name == name), None)

    async def save_step(self, name: str, position: int, result: Any, *, done: bool = True) -> StepEntry:
        """Store the result of a step, or only that it has been asked for."""
        text = json.dumps(result) if done else None
        entry = await retry_store(
            lambda _: self.store.save_step(self.job, name, position, text, done=done, limit=self.limit)
        )
        if entry is None:
            self.stop_lost_run()
        assert self.entries is not None
        others = tuple(other for other in self.entries.steps if other.name != name)
        self.entries = replace(self.entries, steps=(*others, entry))
        return entry

    async def extend_deadline(self) -> None:
        """Move the job's deadline on. If the database is unreachable, it stays, as if this worker had died."""
        assert self.limit is not None
        limit = self.limit
        try:
            await retry_store(lambda _: self.store.extend_deadline(self.job, limit))
        except StoreUnreachable as error:
            log.warning("deadline.kept", job=str(self.job.id), error=str(error), next="another worker may take over")

    async def forget_step(self, name: str) -> None:
        """Delete the entry of a step, so that the next attempt does it again."""
        if not await retry_store(lambda _: self.store.forget_step(self.job, name)):
            self.stop_lost_run()

    async def find_blocking_gate(self) -> Gate | None:
        """Return a gate that has closed since the claim and holds the job."""
        return await retry_store(lambda _: self.store.find_blocking_gate(self.job))

    async def record_intent(self, intent: NewIntent, now: Callable[[], datetime]) -> IntentEntry:
        """Commit the intent to make a visible call. Raises DatabaseClosed if nothing may be sent.

        The store writes no intent of a job that was paused or lost since its claim: the run stops.
        """
        assert self.entries is not None
        whole = replace(intent, channel=self.job.channel, account=self.job.account, steps=self.entries.steps)
        entry = await retry_store(lambda _: self.write_intent(whole))
        if entry is None and (gate := await self.find_blocking_gate()):
            raise StopRun(wait_for_gate(gate, self.job, now()))
        if entry is None:
            self.stop_lost_run()
        if isinstance(entry, DatabaseClosed):
            raise entry
        self.entries = replace(self.entries, intents=(*self.entries.intents, entry))
        self.job = replace(self.job, may_be_live=True, lookup_at=entry.lookup_at)
        return entry

    async def record_receipt(self, entry: ReceiptEntry) -> RecordedReceipt:
        """Store what became of a visible call, even if the run is cancelled meanwhile: a lost receipt is a doubt."""
        return await asyncio.shield(self.write_receipt(entry))

    async def write_receipt(self, entry: ReceiptEntry) -> RecordedReceipt:
        noted = await retry_store(
            lambda _: self.store.record_receipt(self.job.id, entry), keep_trying=RECEIPT_RETRY_SECONDS
        )
        if noted.held_by is None:
            assert self.entries is not None
            self.entries = replace(self.entries, receipts=(*self.entries.receipts, entry))
            self.job = replace(self.job, may_be_live=can_be_live(self.entries), lookup_at=noted.lookup_at)
        if noted.is_duplicate:
            log.error(
                "job.duplicated",
                job=str(self.job.id),
                type=self.job.type,
                step=entry.step,
                next="nothing is sent again; remove one of the two posts by hand",
            )
        return noted

    def stop_lost_run(self) -> NoReturn:
        """End a run whose worker no longer holds the job. Nothing of this ending is written or counted."""
        raise StopRun(Defer(self.job.created_at, "Another worker has claimed this job, or a person cancelled it."))
