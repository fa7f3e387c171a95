"""What users do: enqueue, edit, move, cancel, resolve and replay."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from postino.stores.operations import dead_letters, enqueue, job_actions
from postino.stores.records import AuditContext, EnqueuedJob, NewJob
from postino.values.job import Job, Queue
from postino.values.outcome import Reject, Retry
from postino.values.post import POST
from tests.simulator.interleaving.actor import Act, Actor
from tests.simulator.interleaving.names import ACCOUNTS, BRAND, BULK_CHANNEL, CHANNEL, MAIL, NOTE

if TYPE_CHECKING:
    from tests.simulator.interleaving.life import Life

AUDIT = AuditContext("somebody", "felt like it")
MOST_JOBS, KEYS = 7, 3


class Users:
    def __init__(self, life: Life) -> None:
        self.life = life
        self.chance = life.chance
        self.made = 0

    def name(self) -> str:
        self.made += 1
        return f"user {self.made}"

    def enqueue(self) -> Act | None:
        if len(self.life.oracle.list_open()) >= MOST_JOBS:
            return None
        return self.make_enqueue(
            self.name(), [self.draw_job(number) for number in range(self.chance.choice((1, 2, 3)))]
        )

    def make_enqueue(self, who: str, jobs: Sequence[NewJob], *, again: bool = False) -> Act:
        def note(_: Actor, enqueued: Sequence[EnqueuedJob]) -> None:
            self.life.oracle.enqueued([(job.key, job.payload) for job in jobs], enqueued)

        keys = ", ".join(job.key for job in jobs if job.key) or "no key"
        return Act(
            who=who, what=f"enqueues {len(jobs)} with {keys}", begin=lambda: enqueue.enqueue(jobs, again),
            is_transaction=any(job.key for job in jobs), committed=note,
        )  # fmt: skip

    def draw_job(self, number: int) -> NewJob:
        """Return a job. Those of one request have different times."""
        chance = self.chance
        key = f"key {chance.randrange(KEYS)}" if chance.random() < 0.3 else None
        at = None if chance.random() < 0.7 else self.life.now + timedelta(seconds=chance.choice((-5, 1, 5, 60)))
        if number:
            at = max(at or self.life.now, self.life.now + timedelta(seconds=1)) + timedelta(microseconds=number)
        job_id = self.life.make_id()
        payload = f'"{chance.randrange(10**6)}"'.encode()
        queue = chance.choice((Queue.HIGH, Queue.DEFAULT, Queue.DEFAULT, Queue.LOW))
        if chance.random() < self.life.swarm.bulk:
            return NewJob(id=job_id, type=MAIL, channel=BULK_CHANNEL, queue=queue, payload=payload, key=key, run_at=at)
        kind = chance.choice((POST, NOTE))
        place = chance.choice((*ACCOUNTS, *ACCOUNTS, None))
        account, brand = (place.id, place.brand) if place else (None, BRAND)
        return NewJob(
            id=job_id, type=kind, channel=CHANNEL, queue=queue, payload=payload, key=key, run_at=at, account=account,
            brand=brand,
        )  # fmt: skip

    def choose(self) -> UUID | None:
        """Return a job, most often one that has not ended."""
        known = self.life.oracle.list_open() if self.chance.random() < 0.9 else list(self.life.oracle.jobs)
        return self.chance.choice(known) if known else None

    def choose_time(self) -> datetime | None:
        return None if self.chance.random() < 0.5 else self.life.now + timedelta(seconds=self.chance.choice((3, 30)))

    def edit(self) -> Act | None:
        job_id = self.choose()
        if job_id is None:
            return None
        payload = f'"edited {self.chance.randrange(10**6)}"'.encode()

        def note(_: Actor, job: Job) -> None:
            self.life.oracle.edited(job.id, payload)

        return self.act(job_id, "edits", Act(
            who="", what="", begin=lambda: job_actions.replace_payload(job_id, payload, AUDIT), committed=note,
        ))  # fmt: skip

    def act(self, job_id: UUID, verb: str, act: Act) -> Act:
        """Return the act as that of another user, with a description."""
        what = f"{verb} {self.life.oracle.describe(job_id)}"
        return Act(who=self.name(), what=what, begin=act.begin, committed=act.committed)

    def reschedule(self) -> Act | None:
        job_id, at, ignore = self.choose(), self.choose_time(), self.chance.random() < 0.3
        return None if job_id is None else self.act(job_id, "moves", Act(
            who="", what="", begin=lambda: job_actions.reschedule_job(job_id, at, AUDIT, ignore),
        ))  # fmt: skip

    def cancel(self) -> Act | None:
        job_id = self.choose()
        return None if job_id is None else self.act(job_id, "cancels", Act(
            who="", what="", begin=lambda: job_actions.cancel_job(job_id, AUDIT),
            committed=lambda _, job: self.life.oracle.cancelled(job.id),
        ))  # fmt: skip

    def resolve(self) -> Act | None:
        job_id, verdict = self.choose(), self.chance.choice((Retry(""), Reject("given up")))
        return None if job_id is None else self.act(job_id, f"resolves as {type(verdict).__name__}", Act(
            who="", what="", begin=lambda: job_actions.resolve_job(job_id, verdict, AUDIT),
            committed=lambda _, job: self.life.oracle.resolved(job, verdict),
        ))  # fmt: skip

    def replay(self) -> Act | None:
        ended = [job_id for job_id, known in self.life.oracle.jobs.items() if known.is_ended and not known.is_cancelled]
        if not ended:
            return None
        job_id, at = self.chance.choice(ended), self.choose_time()
        return self.act(job_id, "replays", Act(
            who="", what="", begin=lambda: dead_letters.replay_dead_letter(job_id, None, True, AUDIT, at),
            committed=lambda _, job: self.life.oracle.replayed(job),
        ))  # fmt: skip

    def discard(self) -> Act | None:
        ended = [job_id for job_id, known in self.life.oracle.jobs.items() if known.is_ended and not known.is_cancelled]
        if not ended:
            return None
        job_id = self.chance.choice(ended)
        return self.act(job_id, "discards", Act(
            who="", what="", begin=lambda: dead_letters.discard_dead_letter(job_id, AUDIT),
        ))  # fmt: skip
