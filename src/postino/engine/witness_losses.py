"""What the processes of one machine remember, compared with what the database has."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog

from postino.engine.witness_records import SentIntent, WitnessContents
from postino.errors import NotFound
from postino.rules.restore import Decision, Knowledge, Memory, measure_loss
from postino.stores.records import LostIntent, RememberedCount
from postino.stores.store import Store
from postino.values.database import DatabaseState
from postino.values.ledger import IntentEntry, NewIntent

log = structlog.get_logger("postino.database")


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the memories of this machine say about the database, and what follows."""

    memories: tuple[Memory, ...]
    knowledge: Knowledge
    lost: tuple[SentIntent, ...]  # intents that this machine remembers and the database does not count
    decision: Decision


@dataclass(frozen=True, slots=True)
class Recollection:
    """What one machine remembers: the running process, and the files of the others."""

    witness: str
    n: int  # of batches that the running process had committed before it read the state
    recent: Sequence[SentIntent]  # of the running process
    files: Sequence[WitnessContents]

    def find_lost(self, state: DatabaseState) -> tuple[SentIntent, ...]:
        """Return the intents that this machine remembers and the database does not count, each once."""
        lost = [
            record
            for it in self.files
            if it.header is not None
            for record in it.records
            if record.n > state.count_entered(it.header.witness)
        ]
        first = state.count_entered(self.witness) + 1
        lost += (record for record in self.recent if first <= record.n <= self.n)
        return (*{(it.job_id, it.step, it.number): it for it in lost}.values(),)

    def measure_loss(
        self,
        state: DatabaseState,
        memories: Sequence[Memory],
        lost: Sequence[SentIntent],
        *,
        lease: timedelta,
        is_continuous: bool,
    ) -> timedelta | None:
        """Return how much time the database has lost; None if this machine does not remember all of it."""
        loss = measure_loss(memories, state, lease=lease, is_continuous=is_continuous)
        if loss is None or state.alive_at is None or not self.is_whole(state):
            return None
        return max([loss, *(record.intended_at - state.alive_at for record in lost)])

    def is_whole(self, state: DatabaseState) -> bool:
        """Return whether this machine remembers every intent of its batches that the database lacks.

        The file of the running process may hold batches from before its start, and lack those that were not written.
        """
        batches, last = {self.witness: {record.n for record in self.recent}}, {self.witness: self.n}
        for it in self.files:
            if it.header is not None:
                batches.setdefault(it.header.witness, set()).update(it.list_whole_batches())
                last[it.header.witness] = max(last.get(it.header.witness, 0), it.n)
        return all(
            batches[witness].issuperset(range(state.count_entered(witness) + 1, n + 1)) for witness, n in last.items()
        )


def list_counts(state: DatabaseState, memories: Sequence[Memory], witness: str, n: int) -> list[RememberedCount]:
    """Return the numbers of batches that this machine remembers, of its own witnesses and of all others.

    Only the intents of its own witnesses are entered here. A row that the database lacks may have been deleted since
    the memory was written, unless the memory is at least as new as the database.
    """
    # No batch of the running process is under way, so one that is counted and not remembered was not sent.
    here = {witness: max(n, state.counts[witness]) if witness in state.lost_from else n}
    for memory in memories:
        here[memory.witness] = max(here.get(memory.witness, 0), memory.counts.get(memory.witness, 0))
    counts = dict(here)
    for memory in memories:
        if memory.era == state.era:
            for it, known in memory.counts.items():
                if it in state.counts or it in here or memory.pulse >= state.pulse:
                    counts[it] = max(counts.get(it, 0), known)
    here[witness] = counts[witness]
    return [RememberedCount(it, known, here.get(it, 0)) for it, known in sorted(counts.items())]


async def report_missing_jobs(store: Store, lost: Iterable[SentIntent]) -> None:
    """Log the posts whose calls cannot be entered: the database does not have them, or only as finished."""
    for intent in {it.job_id: it for it in lost}.values():
        try:
            job = await store.job(intent.job_id)
        except NotFound:
            problem = "the database has no record of this post"
        else:
            if not job.state.is_final:
                continue
            problem = f"in the database this post is {job.state} without this call; do not replay it before"
        log.error(
            "job.forgotten",
            job=str(intent.job_id),
            account=intent.account,
            sent_at=str(intent.intended_at),
            next=f"check the account on its network: {problem}",
        )


def to_memory(contents: WitnessContents) -> Memory:
    """Return what a file knows; its ring may be ahead of its header."""
    header = contents.header
    assert header is not None
    times = [header.alive_at, *(record.intended_at for record in contents.records)]
    return Memory(
        witness=header.witness,
        era=header.era,
        pulse=header.pulse,
        alive_at=max(times),
        counts={**header.counts, header.witness: contents.n},
    )


def to_record(n: int, intent: NewIntent, entry: IntentEntry) -> SentIntent:
    return SentIntent(
        n=n, job_id=intent.job_id, step=entry.step, position=entry.position, number=entry.number,
        intended_at=entry.intended_at, send_before_at=entry.send_before_at, lookup_at=entry.lookup_at,
        id_scope=intent.id_scope, account=intent.account, channel=intent.channel, steps=intent.steps,
    )  # fmt: skip


def to_lost(record: SentIntent) -> LostIntent:
    return LostIntent(
        job_id=record.job_id, step=record.step, position=record.position, number=record.number,
        intended_at=record.intended_at, send_before_at=record.send_before_at, lookup_at=record.lookup_at,
        id_scope=record.id_scope, steps=record.steps,
    )  # fmt: skip
