"""The audit trail: prove new entries, remember the last one outside the database, and verify all of them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import ParamSpec, TypeVar

import structlog

from postino.auth.audit_anchor import AnchorUnavailable, choose_path, read_anchor, write_anchor
from postino.engine.file_thread import FileThread
from postino.errors import PostinoError
from postino.rules.audit_trail import AuditReport, CheckedEntry, check_entry, end_check
from postino.stores.audit import FIRST_HASH, AuditHead, AuditSigner, compute_entry_hash
from postino.stores.records import AuditEntry
from postino.stores.store import Store
from postino.values.database import DatabaseAnswer
from postino.vault.audit_proofs import AuditProofs
from postino.vault.key_file import KeyFileRefused, compute_key_id

log = structlog.get_logger("postino.audit")
P = ParamSpec("P")
T = TypeVar("T")
PAGE_SIZE = 1000
SAVE_AFTER = 0.5  # seconds: the anchor is written for all entries of this time at once
MAX_SECONDS = 5.0
ANSWERS = frozenset(f"database.{answer}" for answer in DatabaseAnswer)  # what the audit trail says about them
DIVERGED = (
    "it is not overwritten, and `postino audit verify` reports it; if you restored the database, answer `postino"
    " database accept restored`; if you created a new database in the place of the old one, delete the file"
)


class AuditTrail:
    """The trail of one store, whose database is at `where`.

    `get_keys` returns the vault's keys that are loaded, and `load_keys` loads them.
    """

    def __init__(
        self,
        store: Store,
        get_keys: Callable[[], Sequence[bytes]],
        load_keys: Callable[[], Awaitable[object]],
        state_dir: Path | None,
        where: str = "",
    ) -> None:
        self.store = store
        self.get_keys = get_keys
        self.load_keys = load_keys
        self.state_dir, self.where = state_dir, where
        self.proofs = AuditProofs(get_keys)
        self.thread = FileThread("postino-audit", MAX_SECONDS)
        self.head: AuditHead | None = None  # the last entry that this process has written, unless it is saved
        self.saving: asyncio.Task[None] | None = None
        self.trouble: str | None = None
        store.audit_signer = AuditSigner(self.proofs.make, self.load, self.note)

    async def load(self) -> None:
        """Load the keys for the proofs. Without them, entries have no proof, which the verification reports."""
        with suppress(KeyFileRefused):
            await self.load_keys()

    # The anchor

    def note(self, head: AuditHead) -> None:
        """Remember the last entry, and save it soon."""
        if self.head is None or self.head.seq < head.seq:
            self.head = head
        if self.state_dir is not None and (self.saving is None or self.saving.done()):
            self.saving = asyncio.create_task(self.save_soon())

    async def save_soon(self) -> None:
        while self.head is not None:
            await asyncio.sleep(SAVE_AFTER)
            await self.save()

    async def save(self) -> None:
        """Write the last entry to the anchor, unless the trail no longer has the entry of the anchor."""
        if (head := self.head) is None:
            return
        try:
            path = await self.find_anchor_path()
            if path is not None:
                await self.save_head(path, head)
        except PostinoError as error:
            self.report_trouble("audit.anchor_unavailable", str(error), "the audit trail goes on without its anchor")
        if self.head is head:  # no later entry came meanwhile, and nobody cancelled this
            self.head = None

    async def save_head(self, path: Path, head: AuditHead) -> None:
        anchor = await self.run(read_anchor, path)
        if anchor is None or await self.has_entry(anchor) or await self.is_answered(anchor):
            written = await self.store.audit_after(head.seq - 1, 1)
            at = written[0].at if written and written[0].hash == head.hash else None
            await self.run(write_anchor, path, replace(head, at=at), anchor)
            self.trouble = None
            return
        problem = f"The audit trail does not have entry {anchor.seq} that this machine remembers in {path}."
        self.report_trouble("audit.diverged", problem, DIVERGED)

    async def has_entry(self, anchor: AuditHead) -> bool:
        """Return whether the trail still has the entry of the anchor."""
        entries = await self.store.audit_after(anchor.seq - 1, 1)
        return [(it.seq, it.hash) for it in entries] == [(anchor.seq, anchor.hash)]

    async def is_answered(self, anchor: AuditHead) -> bool:
        """Return whether a person has said, after the entry of the anchor, that the database is another one.

        Only a process with the vault key can have written that: an answer that is put back is older than the anchor.
        """
        if anchor.at is None:
            return False
        await self.load()
        previous, seq = FIRST_HASH, 0
        while entries := await self.store.audit_after(seq, PAGE_SIZE):
            for entry in entries:
                if entry.action in ANSWERS and entry.at > anchor.at:
                    checked = self.check(previous, entry)
                    if checked.is_proven and checked.hash == checked.expected_hash:
                        return True
                previous, seq = entry.hash, entry.seq
        return False

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call on the anchor in a thread. Raises AnchorUnavailable if it takes too long."""
        try:
            return await self.thread.run(function, *args, **kwargs)
        except TimeoutError as error:
            message = f"The state directory {self.state_dir} has not responded for {MAX_SECONDS:g} s."
            raise AnchorUnavailable(message) from error

    def report_trouble(self, event: str, trouble: str, consequence: str) -> None:
        """Log a problem once."""
        if trouble != self.trouble:
            self.trouble = trouble
            log.error(event, error=trouble, next=consequence)

    async def find_anchor_path(self) -> Path | None:
        """Return the file of the anchor; None if there is no place, or no key."""
        await self.load()
        keys = self.get_keys()
        if self.state_dir is None or not keys:
            return None
        return choose_path(self.state_dir, compute_key_id(keys[0]), self.where)

    async def find_anchor(self) -> AuditHead | None:
        """Return the last entry that this machine remembers; None if a person has answered for its loss.

        Raises AnchorUnavailable.
        """
        path = await self.find_anchor_path()
        anchor = None if path is None else await self.run(read_anchor, path)
        if anchor is None or await self.has_entry(anchor) or not await self.is_answered(anchor):
            return anchor
        return None

    async def close(self) -> None:
        """Save what is not saved yet."""
        if self.saving is not None:
            self.saving.cancel()
            with suppress(asyncio.CancelledError):
                await self.saving
            self.saving = None
        await self.save()
        self.thread.close()

    # Verification

    async def verify(self) -> tuple[AuditReport, AuditHead | None]:
        """Check the whole trail from its first entry; return the result and the anchor."""
        await self.load()
        anchor, trouble = None, None
        try:
            anchor = await self.find_anchor()  # first: entries that others add meanwhile are later
        except AnchorUnavailable as error:
            trouble = str(error)
        remembered = None if anchor is None else (anchor.seq, anchor.hash)
        report = AuditReport()
        while report.problem is None and (entries := await self.store.audit_after(report.entries, PAGE_SIZE)):
            for entry in entries:
                checked = self.check(report.head or FIRST_HASH, entry)
                report = check_entry(report, checked, remembered)
                if report.problem is not None:
                    break
        report = end_check(report, remembered, has_keys=bool(self.get_keys()))
        return replace(report, problem=report.problem or trouble), anchor

    def check(self, previous: str, entry: AuditEntry) -> CheckedEntry:
        proven = None if entry.proof is None else self.proofs.check(entry.hash, entry.proof)
        expected = compute_entry_hash(previous, entry)
        return CheckedEntry(entry.seq, entry.hash, expected, proven, entry.proof is not None)
