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
from postino.vault.audit_proofs import AuditProofs
from postino.vault.key_file import KeyFileRefused

log = structlog.get_logger("postino.audit")
P = ParamSpec("P")
T = TypeVar("T")
PAGE_SIZE = 1000
SAVE_AFTER = 0.5  # seconds: the anchor is written for all entries of this time at once
MAX_SECONDS = 5.0
DIVERGED = (
    "it is not overwritten, and `postino audit verify` reports it; if you restored the database, answer `postino"
    " database accept restored`"
)


class AuditTrail:
    """The trail of one store. `get_keys` returns the vault's keys that are loaded, and `load_keys` loads them."""

    def __init__(
        self,
        store: Store,
        get_keys: Callable[[], Sequence[bytes]],
        load_keys: Callable[[], Awaitable[object]],
        state_dir: Path | None,
    ) -> None:
        self.store = store
        self.get_keys = get_keys
        self.load_keys = load_keys
        self.state_dir = state_dir
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
            if path is not None and await self.is_continued(await self.run(read_anchor, path)):
                await self.run(write_anchor, path, head)
                self.trouble = None
        except PostinoError as error:
            self.report_trouble("audit.anchor_unavailable", str(error), "the audit trail goes on without its anchor")
        if self.head is head:  # no later entry came meanwhile, and nobody cancelled this
            self.head = None

    async def is_continued(self, anchor: AuditHead | None) -> bool:
        """Return whether the trail still has the entry of the anchor; log if not."""
        if anchor is None:
            return True
        entries = await self.store.audit_after(anchor.seq - 1, 1)
        if [(it.seq, it.hash) for it in entries] == [(anchor.seq, anchor.hash)]:
            return True
        problem = f"The audit trail does not have entry {anchor.seq} that this machine remembers."
        self.report_trouble("audit.diverged", problem, DIVERGED)
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
        """Return the file of the anchor; None if there is no place, or no worker has used the database yet."""
        state = await self.store.database_state()
        if self.state_dir is None or state.installation is None or state.era is None:
            return None
        return choose_path(self.state_dir, state.installation, state.era)

    async def find_anchor(self) -> AuditHead | None:
        """Return the last entry that this machine remembers. Raises AnchorUnavailable."""
        path = await self.find_anchor_path()
        return None if path is None else await self.run(read_anchor, path)

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
