"""What a person asks for, checked before anything is written: a wrong call is refused with the field's name."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

from postino.engine.job_spec import UNSTORABLE, check_name, parse_queue, wrong_value
from postino.errors import Conflict, WrongUse
from postino.stores.records import AuditContext, DeadLetter
from postino.values.gate import Scope
from postino.values.job import Job

MOST_CAPPED = 1_000_000


def make_act(actor: Any, reason: Any) -> AuditContext:
    """Who and why, as every database can keep it."""
    for field, value in (("actor", actor), ("reason", reason)):
        if not isinstance(value, str) or UNSTORABLE.search(value):
            raise wrong_value(field, value, "a text of whole characters without NUL")
    return AuditContext(actor, reason)


def parse_job_id(value: Any) -> UUID:
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value)
    except (ValueError, TypeError, AttributeError):
        raise wrong_value("job_id", value, "the id of a job, a UUID") from None


async def replay_each(
    letters: Sequence[DeadLetter], replay: Callable[[UUID], Awaitable[Job]]
) -> list[tuple[DeadLetter, Job | Conflict]]:
    results: list[tuple[DeadLetter, Job | Conflict]] = []
    for letter in letters:
        try:
            results.append((letter, await replay(letter.job.id)))
        except Conflict as refusal:
            results.append((letter, refusal))
    return results


def parse_gate(scope: str | Scope, name: Any) -> tuple[Scope, str]:
    if scope not in list(Scope):
        raise WrongUse(f"scope: there is no {scope!r} to pause. There are: {', '.join(Scope)}.", field="scope")
    if scope == Scope.ALL:
        return Scope.ALL, ""
    return Scope(scope), parse_queue(name).label if scope == Scope.QUEUE else check_name(name)


def check_cap(value: Any) -> int | None:
    """None is no cap; 0 lets nothing start."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_CAPPED):
        return value
    raise wrong_value("most", value, f"a whole number from 0 to {MOST_CAPPED:,}, or None")
