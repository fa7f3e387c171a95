"""Periodic duties: which worker may do one now, and the pruning of what has been kept long enough."""

from postino.config import RetentionConfig
from postino.stores.statement import Operation, ask


def take_duty(duty: str, holder: str, seconds: float, every: float) -> Operation[bool]:
    return bool((yield ask("take_duty", duty=duty, holder=holder, seconds=seconds, every=every)))


def finish_duty(duty: str, holder: str) -> Operation[None]:
    yield ask("finish_duty", duty=duty, holder=holder)


def prune(kept: RetentionConfig) -> Operation[int]:
    pruned = yield ask("prune", finished_days=kept.finished_days, event_days=kept.event_days)
    letters = yield ask("prune_dead_letters", dead_letter_days=kept.dead_letter_days)
    return sum(int(row["pruned"]) for row in pruned) + len(letters)
