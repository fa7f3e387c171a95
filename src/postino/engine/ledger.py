"""The ledger of one job, as its run sees and writes it. What the store cannot be told ends the run, not the ledger."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import structlog

from postino.engine.enqueue import retry_store
from postino.rules.ledger import order
from postino.stores.store import Store
from postino.values.job import Job
from postino.values.ledger import Fact, IntentEntry, Ledger, NewIntent, Noted, StepEntry
from postino.values.outcome import Outcome, Reject, Retry

log = structlog.get_logger("postino.ledger")
KEEP_NOTING = 60.0  # seconds: nobody else can tell what is known here
Intend = Callable[[NewIntent], Awaitable[IntentEntry | None]]


class StopRun(BaseException):
    """A run ends here, with this outcome. Not an Exception: a handler's own `except` must not hold it up."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome


class JobLedger:
    """Remembers steps in their order, and knows the job as it is now: sent or not, in doubt or not."""

    def __init__(self, store: Store, intend: Intend, job: Job) -> None:
        self.store = store
        self.intend_one = intend
        self.job = job
        self.limit: float | None = None  # seconds from a step to the job's deadline
        self.progress_at = 0.0  # when the last step began
        self.entered: list[str] = []  # steps of this run, in their order
        self.known: Ledger | None = None
        self.asked = False  # somebody outside

    def ask(self) -> None:
        self.asked = True

    async def read(self) -> Ledger:
        if self.known is None:
            self.known = await retry_store(lambda _: self.store.ledger(self.job.id))
        return self.known

    async def enter(self, name: str) -> int:
        """The next step has this name, as it had whenever this job ran before."""
        if name in self.entered:
            told = f"Two steps of {self.job.type} are called {name!r}. Each needs a name of its own"
            raise StopRun(Reject(f"{told}, or what came of one would be taken for the other."))
        position = len(self.entered)
        self.entered.append(name)
        before = order(await self.read())
        if before.get(position, name) != name:
            told = f"The steps of {self.job.type} have changed under this job: step {position + 1} was"
            raise StopRun(Reject(f"{told} {before[position]!r} when it ran before, and is {name!r} now."))
        return position

    def remembered(self, name: str) -> StepEntry | None:
        assert self.known is not None
        return next((entry for entry in self.known.steps if entry.name == name), None)

    async def remember(self, name: str, position: int, result: Any, *, done: bool = True) -> StepEntry:
        text = json.dumps(result) if done else None

        async def remember(_: bool) -> StepEntry | None:
            return await self.store.save_step(self.job, name, position, text, done=done, limit=self.limit)

        entry = await retry_store(remember)
        if entry is None:
            self.lost()
        assert self.known is not None
        others = tuple(other for other in self.known.steps if other.name != name)
        self.known = replace(self.known, steps=(*others, entry))
        return entry

    async def forget(self, name: str) -> None:
        async def forget(_: bool) -> bool:
            return await self.store.forget_step(self.job, name)

        if not await retry_store(forget):
            self.lost()

    async def intend(self, intent: NewIntent) -> IntentEntry:
        async def intend(_: bool) -> IntentEntry | None:
            return await self.intend_one(intent)

        entry = await retry_store(intend)
        if entry is None:
            self.lost()
        assert self.known is not None
        self.known = replace(self.known, intents=(*self.known.intents, entry))
        self.job = replace(self.job, sent=True, look_at=entry.look_at)
        return entry

    async def note(self, fact: Fact) -> Noted:
        """To the end, even if the run is told to stop meanwhile: a fact that is lost is a doubt."""
        return await asyncio.shield(self.write(fact))

    async def write(self, fact: Fact) -> Noted:
        async def note(_: bool) -> Noted:
            return await self.store.record_receipt(self.job.id, fact)

        noted = await retry_store(note, KEEP_NOTING)
        if noted.held_by is None:
            assert self.known is not None
            self.known = replace(self.known, facts=(*self.known.facts, fact))
            self.job = replace(self.job, look_at=noted.look_at)
        if noted.doubled:
            log.error("job.duplicated", job=str(self.job.id), type=self.job.type, step=fact.step, next="a person looks")
        return noted

    def lost(self) -> NoReturn:
        raise StopRun(Retry("Another worker has this job by now."))


def intending(store: Store) -> Callable[[list[NewIntent]], Awaitable[Sequence[IntentEntry | None]]]:
    """Intents of several runs, written together."""

    async def intend(intents: list[NewIntent]) -> Sequence[IntentEntry | None]:
        return await store.record_intents(intents)

    return intend
