"""Periodic duties: who may do one now, pruning, failing missed posts, and noticing a restored database."""

import json

from postino.config import RetentionConfig
from postino.rules.database_identity import explain_hold
from postino.rules.settlement import settle_missed, settle_outage_timeout
from postino.stores.operations.post_events import PostEvent, write_post_events
from postino.stores.operations.settle import settle
from postino.stores.records import AttemptError, SettledJob
from postino.stores.rows import set_owner, to_live_jobs
from postino.stores.statement import Operation, ask
from postino.values.event import EventType
from postino.values.job import Job
from postino.values.post import POST

NETWORK_DOWN = AttemptError(None, "Its network was in trouble for too long.")
DEADLINE_MISSED = AttemptError(None, "It was to be out by a certain time, and that time has passed.")


def fail_missed_posts(give_up_after: float) -> Operation[list[Job]]:
    """Fail posts whose time has passed and of which nothing was sent; return their jobs."""
    late = to_live_jobs((yield ask("take_missed_posts")))
    given_up = to_live_jobs((yield ask("take_given_up_posts", seconds=give_up_after)))
    if not late and not given_up:
        return []
    clock = yield ask("get_time")
    hours = f"{give_up_after / 3600:g} hours"
    settled = [
        SettledJob(set_owner(job, "postino", clock[0]["now_at"]), settlement, error)
        for jobs, settlement, error in (
            (late, settle_missed(), DEADLINE_MISSED),
            (given_up, settle_outage_timeout(hours), NETWORK_DOWN),
        )
        for job in jobs
    ]
    yield from settle(settled)
    return [*late, *given_up]


def take_duty(duty: str, holder: str, seconds: float, every: float) -> Operation[bool]:
    """Take a periodic duty for so many seconds; return False if it is not due or another worker has it."""
    return bool((yield ask("take_duty", duty=duty, holder=holder, seconds=seconds, every=every)))


def finish_duty(duty: str, holder: str) -> Operation[None]:
    """Record that a duty was done now."""
    yield ask("finish_duty", duty=duty, holder=holder)


def prune(retention: RetentionConfig) -> Operation[int]:
    """Make room for new rows and delete a bounded part of what is past its retention; return how much."""
    yield ask("archive_posts", finished_days=retention.finished_days)
    pruned = yield ask("prune_history", finished_days=retention.finished_days, event_days=retention.event_days)
    letters = yield ask("prune_dead_letters", dead_letter_days=retention.dead_letter_days)
    return sum(int(row["pruned"]) for row in pruned) + len(letters)


def detect_restore(identity: str, after_outage: bool) -> Operation[list[Job]]:
    """Compare the database with where it was last seen; return the due posts held because they may have been sent."""
    identities = yield ask("lock_database_identity")
    clock = yield ask("get_time")
    held: list[Job] = []
    if identities:
        alive_at = clock[0]["now_at"] if after_outage else identities[0]["alive_at"]
        why = explain_hold(identities[0]["identity"], identity, alive_at, clock[0]["now_at"])
        if why is not None:
            held = to_live_jobs((yield ask("hold_due_posts", type=POST, why=why)))
            for job in held:
                yield ask("insert_event", type=EventType.UNCERTAIN, job_id=job.id, data=json.dumps({"reason": why}))
            fields = {"last_error": why}
            yield from write_post_events(PostEvent(EventType.POST_UNCERTAIN, job, fields) for job in held)
    yield ask("save_database_identity", identity=identity)
    return held


def record_alive() -> Operation[None]:
    """Record that the database is in use now."""
    yield ask("record_alive")
