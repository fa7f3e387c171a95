"""Contents, posts and accounts: written together with the jobs that carry them."""

import json

from postino.config import RetentionConfig
from postino.rules.database_identity import why_held
from postino.rules.settlement import missed, waited_in_vain
from postino.stores import rows
from postino.stores.operations.settle import settle
from postino.stores.records import AttemptError, SettledJob
from postino.stores.statement import Operation, ask
from postino.values.event import EventType
from postino.values.job import Job
from postino.values.post import POST

NETWORK_DOWN = AttemptError(None, "Its network was in trouble for too long.")
DEADLINE_MISSED = AttemptError(None, "It was to be out by a certain time, and that time has passed.")


def fail_missed_posts(give_up_after: float) -> Operation[list[Job]]:
    late = rows.live_jobs((yield ask("take_missed_posts")))
    given_up = rows.live_jobs((yield ask("take_given_up_posts", seconds=give_up_after)))
    if not late and not given_up:
        return []
    clock = yield ask("get_time")
    hours = f"{give_up_after / 3600:g} hours"
    endings = [
        SettledJob(rows.with_owner(job, "postino", clock[0]["now_at"]), settlement, failure)
        for jobs, settlement, failure in (
            (late, missed(), DEADLINE_MISSED),
            (given_up, waited_in_vain(hours), NETWORK_DOWN),
        )
        for job in jobs
    ]
    yield from settle(endings)
    return [*late, *given_up]


def take_duty(duty: str, holder: str, seconds: float, every: float) -> Operation[bool]:
    return bool((yield ask("take_duty", duty=duty, holder=holder, seconds=seconds, every=every)))


def finish_duty(duty: str, holder: str) -> Operation[None]:
    yield ask("finish_duty", duty=duty, holder=holder)


def prune(kept: RetentionConfig) -> Operation[int]:
    yield ask("archive_posts", finished_days=kept.finished_days)
    pruned = yield ask("prune_history", finished_days=kept.finished_days, event_days=kept.event_days)
    letters = yield ask("prune_dead_letters", dead_letter_days=kept.dead_letter_days)
    return sum(int(row["pruned"]) for row in pruned) + len(letters)


def detect_restore(identity: str, after_outage: bool) -> Operation[list[Job]]:
    """Looks where it is and when it last lived; what may have been sent since is held until a person answers for it."""
    known = yield ask("lock_database_identity")
    clock = yield ask("get_time")
    held: list[Job] = []
    if known:
        alive_at = clock[0]["now_at"] if after_outage else known[0]["alive_at"]
        why = why_held(known[0]["identity"], identity, alive_at, clock[0]["now_at"])
        if why is not None:
            held = rows.live_jobs((yield ask("hold_due_posts", type=POST, why=why)))
            for job in held:
                yield ask("insert_event", type=EventType.UNCERTAIN, job_id=job.id, data=json.dumps({"reason": why}))
    yield ask("save_database_identity", identity=identity)
    return held


def record_alive() -> Operation[None]:
    yield ask("record_alive")
