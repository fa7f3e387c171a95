"""What this process remembers of the database, so that it sends nothing from a copy or a restored backup.

The order is: commit the intents, write them to the witness file, send. `rules.restore` decides what a difference means.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import structlog

from postino import clock
from postino.engine.witness_losses import (
    Comparison,
    Recollection,
    list_counts,
    report_missing_jobs,
    to_lost,
    to_memory,
    to_record,
)
from postino.engine.witness_records import SentIntent, WitnessContents, WitnessHeader
from postino.engine.witness_storage import WitnessStorage
from postino.errors import PostinoError
from postino.rules.restore import (
    CAUSES,
    Decision,
    Knowledge,
    Memory,
    Place,
    advise_answer,
    classify,
    compare_places,
    decide,
    describe_cause,
    is_id_used_twice,
    is_pruned,
    is_pulse_due,
    is_still_there,
    list_recent_counts,
)
from postino.stores.sqlite_place import is_file_there
from postino.stores.store import Store
from postino.values.database import Batch, Cause, DatabaseState, Standing
from postino.values.ledger import IntentEntry, NewIntent

log = structlog.get_logger("postino.database")
REMEMBERED = 4096  # intents
STANDING_AFTER_LOSS = {Decision.ASK_LOSS: Standing.ASKED, Decision.CALL_ROLL: Standing.ROLL_CALL}
MAX_READS = 5  # of the state of the database, until no action follows from it


class DatabaseClosed(PostinoError):
    """The database may be a copy or a backup, so nothing is sent."""


class Witness:
    """The memory of one sending process. Without a state directory, the memory ends with the process."""

    def __init__(
        self, store: Store, state_dir: Path | None, *, is_trusted: bool = False, roll_call_seconds: float = 20.0
    ) -> None:
        self.store = store
        self.storage = WitnessStorage(state_dir)
        self.is_trusted = is_trusted
        self.roll_call_seconds = roll_call_seconds
        self.roll_call: tuple[datetime, float] | None = None  # the one this process has signed, and when
        self.id, self.mark, self.n = clock.random_hex(), clock.random_hex(), 0
        self.memory: Memory | None = None  # None: this process does not vouch for the database
        self.others: list[WitnessContents] = []  # files of this machine, until they are compared with the database
        self.recent: deque[SentIntent] = deque(maxlen=REMEMBERED)
        self.first_pulse: int | None = None
        self.created_at: datetime | None = None  # of the database
        self.sending = asyncio.Lock()
        self.checked = asyncio.Event()  # set after the first check
        self.last_message = ""

    # Checking the database

    async def check(self, state: DatabaseState, memory: Memory | None) -> None:
        """Compare the database with what this process knew before it asked for the state, and act on the difference."""
        for _ in range(MAX_READS):
            if state.installation is None:
                if await self.meet(state):
                    break
            elif state.installation != self.storage.installation:
                await self.open_files(state.installation)
            elif await self.handle_state(state, memory):
                break
            memory = self.memory
            state = await self.read_state()
        self.checked.set()

    async def read_state(self) -> DatabaseState:
        """Return the state of the database, with the numbers of all witnesses that this machine remembers."""
        return await self.store.database_state(self.list_remembered())

    def list_remembered(self) -> set[str]:
        """Return the witnesses that this machine remembers."""
        memories = [*map(to_memory, self.others), *([self.memory] if self.memory else [])]
        return {self.id}.union(*({it.witness, *it.counts} for it in memories))

    async def meet(self, state: DatabaseState) -> bool:
        """Act on a database that no worker has used yet; return False if the database must be read again.

        It may be a backup from that time. Then this process, or a file of this machine, knows a later state of it, or
        the database is not where it was created.
        """
        if state.standing is Standing.COPY or state.cause is Cause.LOSS:
            self.explain(state)
            return True
        headers = await self.storage.find_headers(await self.store.schema_time())
        has_worked = self.storage.installation is not None
        is_known = has_worked or bool(headers)
        if not is_known and state.standing is Standing.OPEN:
            is_there = is_still_there(state.place, state.here)
            is_adopted = await self.store.adopt_database(
                state, clock.random_hex(), clock.random_hex(), is_there=is_there
            )
            if is_there or is_adopted:
                return False
        is_elsewhere = not has_worked and all(
            compare_places(it.place, state.here, is_old_file_there=is_file_there(it.place)) is Place.OTHER
            for it in headers
        )
        cause = Cause.PLACE if is_elsewhere else Cause.LOSS
        if state.cause is cause:
            self.explain(state)
            return True
        eras = {it.era for it in headers} | ({self.memory.era} if self.memory else set())
        await self.store.ask_person(state, cause, describe_cause(cause, state), eras)
        return False

    async def handle_state(self, state: DatabaseState, memory: Memory | None) -> bool:
        """Act on the state; return False if the database must be read again."""
        if self.first_pulse is None:
            self.first_pulse = state.pulse
        comparison = await self.compare(state, memory)
        if self.is_incomplete(state, comparison):
            async with self.sending:  # no batch is under way, so that the numbers of this process are exact
                # Other processes of this machine may have ended, or sent more. They commit before they write their
                # files, so the database is read after the files.
                self.others = await self.storage.read_files()
                await self.complete(await self.read_state())
            return False
        if memory is not None and is_id_used_twice(state, self.id, self.n, self.mark):
            await self.take_new_id(state)
            return False
        return await self.act(comparison.decision, state)

    async def compare(self, state: DatabaseState, memory: Memory | None) -> Comparison:
        """Compare the state with what this machine remembers."""
        memories = (*map(to_memory, self.others), *([memory] if memory else []))
        former = await self.store.eras() if any(it.era != state.era for it in memories) else frozenset()
        knowledge = classify(memories, state, former)
        known = memory.counts.get(self.id, 0) if memory and not is_pruned(memory, state) else 0
        files = [it for it in self.others if not is_pruned(to_memory(it), state)]
        recollection = Recollection(self.id, known, self.recent, files)
        lost = recollection.find_lost(state)
        assert state.place is not None
        assert state.now_at is not None
        is_old_file_there = state.place != state.here and is_file_there(state.place)
        place = compare_places(state.place, state.here, is_old_file_there=is_old_file_there)
        decision = decide(
            state,
            knowledge,
            place,
            state.now_at,
            is_trusted=self.is_trusted,
            is_other_process_active=self.first_pulse is not None and state.pulse > self.first_pulse,
            loss=recollection.measure_loss(
                state,
                memories,
                lost,
                lease=timedelta(seconds=self.roll_call_seconds),
                is_continuous=memory is not None and place is Place.PROMOTED,
            ),
        )
        return Comparison(memories, knowledge, lost, decision)

    async def act(self, decision: Decision, state: DatabaseState) -> bool:
        """Carry out the decision; return False if the database must be read again."""
        match decision:
            case Decision.CONTINUE | Decision.JOIN:
                await self.vouch(state)
            case Decision.CALL_ROLL:
                log.warning(
                    "database.moved",
                    was=state.place,
                    now=state.here,
                    next="every worker checks the database before Postino sends",
                )
                await self.store.call_roll(state, describe_cause(Cause.PLACE, state))
                self.others = await self.storage.read_files()  # of processes that may not answer any more
                return False
            case Decision.ANSWER_ROLL:
                await self.vouch(state)
                await self.answer_roll(state)
            case Decision.REOPEN:
                await self.store.reopen_database(state, "A worker that knows the database has found it complete.")
                return False
            case Decision.WAIT:
                self.explain(state)
            case _:
                await self.store.ask_person(state, CAUSES[decision], describe_cause(CAUSES[decision], state))
                self.reset_first_pulse()
                return False
        return True

    async def vouch(self, state: DatabaseState) -> None:
        """Vouch for the database: record the pulse if it is due, and remember what the database has."""
        assert state.era is not None
        assert state.alive_at is not None
        others = [it.header.witness for it in self.others if it.header is not None]
        self.last_message, self.others = "", []
        is_new = self.memory is None or self.memory.era != state.era
        if is_new:
            self.n = max(self.n, state.counts.get(self.id, 0))
        is_due = is_pulse_due(state) and state.standing is Standing.OPEN
        is_missing = self.id not in state.counts
        if is_new or is_due or is_missing or self.memory is None or self.memory.pulse != state.pulse:
            released = await self.store.register_witness(self.id, self.n, self.storage.trouble, others)
            for job in released:
                log.warning("job.cleared", job=str(job.id), account=job.account, next="it is published as planned")
        remembered = {} if self.memory is None else self.memory.counts
        counts = list_recent_counts(state) | {self.id: self.n}
        pulse, alive_at = state.pulse, state.alive_at
        if is_due and await self.store.record_pulse(state):
            assert state.now_at is not None
            pulse, alive_at = pulse + 1, state.now_at
        has_changed = is_new or self.memory is None or self.memory.pulse != pulse or remembered.keys() != counts.keys()
        has_changed = has_changed or self.storage.lacks_header(self.id)
        memory = Memory(witness=self.id, era=state.era, pulse=pulse, alive_at=alive_at, counts=counts)
        if has_changed:
            await self.save_header(memory, state.here)  # first: what is sent from now on needs a file with this era
        # The number of this process may have grown meanwhile.
        self.memory = replace(memory, counts=counts | {self.id: self.n})

    async def answer_roll(self, state: DatabaseState) -> None:
        """Sign the roll once. Open the database when the roll call has lasted `roll_call_seconds`."""
        assert state.since_at is not None
        if self.roll_call is None or self.roll_call[0] != state.since_at:
            self.explain(state)
            await self.store.sign_roll(self.id, state.here)
            self.roll_call = state.since_at, clock.uptime()
        elif clock.uptime() - self.roll_call[1] >= self.roll_call_seconds:
            for job in await self.store.end_roll_call(state):
                log.error(
                    "job.suspect",
                    job=str(job.id),
                    account=job.account,
                    next="its network is asked, or a person if the network cannot tell",
                )

    def reset_first_pulse(self) -> None:
        """Forget the first pulse, so that only later pulses show that another process is active."""
        self.first_pulse = None

    async def take_new_id(self, state: DatabaseState) -> None:
        """Take a new id, because another process has this one."""
        log.warning("witness.id_used_twice", witness=self.id, next="the worker continues under a new id")
        async with self.sending:
            self.id, self.mark = clock.random_hex(), clock.random_hex()
            await self.store.register_witness(self.id, self.n, self.storage.trouble)
            if self.memory is not None:
                counts = {**self.memory.counts, self.id: self.n}
                self.memory = replace(self.memory, witness=self.id, counts=counts)
                # Before the next batch, whose records would not be written.
                await self.save_header(self.memory, state.here)

    def explain(self, state: DatabaseState) -> None:
        """Log once why Postino sends nothing, and what a person can do."""
        message = f"{state.standing}: {state.reason}"
        if message != self.last_message:
            self.last_message = message
            report = log.warning if state.standing is Standing.ROLL_CALL else log.error
            report("database.closed", standing=state.standing, reason=state.reason, next=advise_answer(state))

    # Intents that the database has lost

    def is_incomplete(self, state: DatabaseState, comparison: Comparison) -> bool:
        """Return whether the database lacks something that this machine remembers, or waits for this process."""
        return comparison.knowledge is Knowledge.BEHIND or bool(comparison.lost) or self.id in state.lost_from

    async def complete(self, state: DatabaseState) -> None:
        """Enter what the database lacks, and raise its numbers. Close it if `compare` says so."""
        comparison = await self.compare(state, self.memory)
        if not self.is_incomplete(state, comparison):
            return
        standing = STANDING_AFTER_LOSS.get(comparison.decision)
        reason = describe_cause(Cause.LOSS, state)
        memories, lost = comparison.memories, comparison.lost
        counts = list_counts(state, memories, self.id, self.n)
        pulse = max([memory.pulse for memory in memories if memory.era == state.era], default=0)
        doubted = await self.store.enter_lost_intents(
            state, [to_lost(it) for it in lost], counts, pulse, {it.era for it in memories}, standing, reason
        )
        if doubted is None:
            return
        log.error(
            "database.behind",
            entered=len(doubted),
            lost_since=str(state.alive_at),
            next=reason if standing else "Postino continues",
        )
        await report_missing_jobs(self.store, lost)
        known = {it.witness: it.n for it in counts}
        self.n, self.roll_call = known[self.id], None
        if self.memory is not None:
            self.memory = replace(self.memory, era=state.era or "", pulse=max(pulse, state.pulse), counts=known)
            await self.save_header(self.memory, state.here)  # the file may be new, or hold another installation's

    # Sending

    async def record_intents(self, intents: Sequence[NewIntent]) -> list[IntentEntry | DatabaseClosed | None]:
        """Commit intents, then write them to the file. The calls may leave when this returns."""
        async with self.sending:
            memory = self.memory
            if memory is None:
                return [DatabaseClosed("Postino does not know this database, so it sends nothing.")] * len(intents)
            batch = Batch(witness=self.id, n=self.n, mark=self.mark, era=memory.era, pulse=memory.pulse)
            entries = await self.store.record_intents(intents, batch)
            if not entries:
                return [DatabaseClosed("The database may be a copy or a backup, so nothing was sent.")] * len(intents)
            n = batch.n + 1  # `self.n` may have been raised to it meanwhile
            self.n, self.mark = max(self.n, n), clock.random_hex()
            # Read again: the memory may have been renewed meanwhile.
            if self.memory is not None:
                self.memory = replace(self.memory, counts={**self.memory.counts, self.id: self.n})
            records = [to_record(n, it, entry) for it, entry in zip(intents, entries, strict=True) if entry]
            self.recent += records
            await self.storage.save_records(self.id, records)
            return [*entries]

    # The file

    async def open_files(self, installation: str) -> None:
        """Take a file for this process, and read those of all processes of this machine."""
        self.created_at = await self.store.schema_time()
        self.others = await self.storage.open(installation)
        file = self.storage.file
        own = next((it for it in self.others if file is not None and it.slot == file.slot), None)
        if own is None or own.header is None or self.memory is not None:
            return
        known = (await self.store.database_state([own.header.witness])).counts.get(own.header.witness, 0)
        if known <= own.n + 1:  # else another process has sent under this id
            self.id, self.n = own.header.witness, max(own.n, known)

    async def save_header(self, memory: Memory, place: str) -> None:
        """Write what this process knows to its file."""
        await self.storage.save_header(
            WitnessHeader(
                witness=self.id,
                era=memory.era,
                place=place,
                n=self.n,
                pulse=memory.pulse,
                alive_at=memory.alive_at,
                counts=memory.counts,
                created_at=self.created_at,
            )
        )

    async def close(self) -> None:
        await self.storage.close()
