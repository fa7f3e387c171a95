"""Posts that may have been published in a part of the history that the database has lost.

An intent without a step stands for all that may have been sent. `rules.ledger` decides what follows from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from postino.rules.ledger import has_live_step, list_uncertain_intents
from postino.stores.operations.events import insert_event
from postino.stores.operations.jobs import get_job
from postino.stores.operations.ledger import get_ledger
from postino.stores.operations.post_events import PostEvent, write_post_events
from postino.stores.rows import to_unfinished_jobs
from postino.stores.statement import Operation, ask
from postino.values.event import EventType
from postino.values.job import Job
from postino.values.ledger import Suspicion
from postino.values.post import POST


@dataclass(frozen=True, slots=True)
class Suspects:
    """Posts that the database may have lost to be published."""

    due: tuple[Job, ...] = ()  # in doubt: their networks are asked, and a person about those that cannot be
    early: tuple[Job, ...] = ()  # not due yet


def suspect_posts(
    suspicion: Suspicion, since_at: datetime, now: datetime, *, due_to_at: datetime, created_to_at: datetime
) -> Operation[Suspects]:
    """Put posts of which nothing is known to be sent under suspicion: those that may have been sent since a time.

    Those that are due, or were when a person postponed them since, become uncertain. The others stay pending: only a
    person can have published them early.
    """
    why = (
        f"The database has lost what happened from {since_at:%Y-%m-%d %H:%M} to {now:%Y-%m-%d %H:%M} UTC. This post may"
        " have been published then."
    )
    scope = {"type": POST, "since_at": since_at, "created_to_at": created_to_at}
    early = to_unfinished_jobs((yield ask("list_early_posts", due_to_at=due_to_at, **scope)))
    yield ask("insert_suspicions", due=suspicion, early=Suspicion.EARLY, due_to_at=due_to_at, **scope)
    yield ask("end_claims_in_doubt", type=POST)
    due = to_unfinished_jobs((yield ask("doubt_due_posts", why=why, **scope)))
    yield from write_uncertain_events(due, why)
    return Suspects(tuple(due), tuple(early))


def release_suspects() -> Operation[list[Job]]:
    """End the suspicion that processes missing from a roll call have caused; return its posts that wait again."""
    released = []
    for row in (yield ask("delete_suspicions", step=Suspicion.ABSENT)):
        ledger = yield from get_ledger(row["job_id"])
        if list_uncertain_intents(ledger):
            continue
        if (yield ask("release_suspect", id=row["job_id"], may_be_live=has_live_step(ledger))):
            job = yield from get_job(row["job_id"])
            yield from insert_event(EventType.DEFERRED, job.id, {"reason": "The worker that was missing has returned."})
            released.append(job)
    return released


def write_uncertain_events(jobs: Sequence[Job], why: str) -> Operation[None]:
    """Write the events of jobs that became uncertain."""
    for job in jobs:
        yield from insert_event(EventType.UNCERTAIN, job.id, {"error": why})
    yield from write_post_events(PostEvent(EventType.POST_UNCERTAIN, job, {"last_error": why}) for job in jobs)
