"""Periodic duties: which worker may do one now, the pruning of what was kept long enough, the database's own pulse."""

import json

from postino.config import RetentionConfig
from postino.rules.database_identity import why_held
from postino.stores import rows
from postino.stores.statement import Operation, ask
from postino.values.event import EventType
from postino.values.job import Job
from postino.values.post import POST


def take_duty(duty: str, holder: str, seconds: float, every: float) -> Operation[bool]:
    return bool((yield ask("take_duty", duty=duty, holder=holder, seconds=seconds, every=every)))


def finish_duty(duty: str, holder: str) -> Operation[None]:
    yield ask("finish_duty", duty=duty, holder=holder)


def prune(kept: RetentionConfig) -> Operation[int]:
    yield ask("keep_posts", finished_days=kept.finished_days)
    pruned = yield ask("prune", finished_days=kept.finished_days, event_days=kept.event_days)
    letters = yield ask("prune_dead_letters", dead_letter_days=kept.dead_letter_days)
    return sum(int(row["pruned"]) for row in pruned) + len(letters)


def awaken(identity: str, after_outage: bool) -> Operation[list[Job]]:
    """Looks where it is and when it last lived; what may have been sent since is held until a person answers for it."""
    known = yield ask("lock_surroundings")
    clock = yield ask("clock")
    held: list[Job] = []
    if known:
        alive_at = clock[0]["now_at"] if after_outage else known[0]["alive_at"]
        why = why_held(known[0]["identity"], identity, alive_at, clock[0]["now_at"])
        if why is not None:
            held = rows.live_jobs((yield ask("hold_due", type=POST, why=why)))
            for job in held:
                yield ask("tell", type=EventType.UNCERTAIN, job_id=job.id, data=json.dumps({"reason": why}))
    yield ask("live", identity=identity)
    return held


def pulse() -> Operation[None]:
    yield ask("pulse")
