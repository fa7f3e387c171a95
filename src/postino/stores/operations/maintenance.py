"""Periodic duties: who may do one now, pruning, and failing missed posts."""

from postino.config import RetentionConfig
from postino.rules.restore import Memory, has_lost
from postino.rules.settlement import settle_missed, settle_outage_timeout
from postino.stores.operations.circuits import delete_unused_circuits
from postino.stores.operations.database import read_witnesses
from postino.stores.operations.settle import settle
from postino.stores.records import AttemptError, SettledJob
from postino.stores.rows import set_owner, to_unfinished_jobs
from postino.stores.statement import Operation, ask
from postino.values.database import Standing
from postino.values.job import Job

NETWORK_DOWN = AttemptError(None, "The circuit of the network was open for too long.")
DEADLINE_MISSED = AttemptError(None, "The time in `publish_until` has passed.")


def fail_missed_posts(give_up_after: float, memory: Memory | None = None) -> Operation[list[Job]]:
    """Fail posts whose time has passed and of which nothing was sent; return their jobs.

    None while the database may be a copy or a backup, or lacks what the worker's memory has: they may be published.
    """
    [row] = yield ask("lock_database_state")
    database = yield from read_witnesses(row, memory.counts if memory is not None else ())
    if database.standing is not Standing.OPEN:
        return []
    if memory is not None and (memory.era != database.era or has_lost(memory, database, ())):
        return []
    missed = to_unfinished_jobs((yield ask("take_missed_posts")))
    timed_out = to_unfinished_jobs((yield ask("take_outage_posts", seconds=give_up_after)))
    if not missed and not timed_out:
        return []
    clock = yield ask("get_time")
    hours = f"{give_up_after / 3600:g} hours"
    settled = [
        SettledJob(set_owner(job, "postino", clock[0]["now_at"]), settlement, error)
        for jobs, settlement, error in (
            (missed, settle_missed(), DEADLINE_MISSED),
            (timed_out, settle_outage_timeout(hours), NETWORK_DOWN),
        )
        for job in jobs
    ]
    yield from settle(settled)
    return [*missed, *timed_out]


def take_duty(duty: str, holder: str, seconds: float, every: float) -> Operation[bool]:
    """Take a periodic duty for so many seconds; return False if it is not due or another worker has it."""
    return bool((yield ask("take_duty", duty=duty, holder=holder, seconds=seconds, every=every)))


def finish_duty(duty: str, holder: str) -> Operation[None]:
    """Record that a duty was done now."""
    yield ask("finish_duty", duty=duty, holder=holder)


def prune(retention: RetentionConfig) -> Operation[int]:
    """Create partitions and delete a bounded number of rows past their retention; return how many."""
    yield ask("archive_posts", finished_days=retention.finished_days)
    pruned = yield ask("prune_history", finished_days=retention.finished_days, event_days=retention.event_days)
    letters = yield ask("prune_dead_letters", dead_letter_days=retention.dead_letter_days)
    yield from delete_unused_circuits()
    return sum(int(row["pruned"]) for row in pruned) + len(letters)
