"""Arguments of actions that people and programs take on jobs and gates. A wrong one raises WrongUse with its field."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

from postino.engine.checks import check_name, make_wrong_value_error, parse_queue
from postino.errors import Conflict, WrongUse
from postino.stores.records import AuditContext, DeadLetter
from postino.values.gate import Scope
from postino.values.job import Job
from postino.values.text import INVALID_CHARACTERS


def make_audit_context(actor: Any, reason: Any) -> AuditContext:
    """Return who takes an action and why, for the audit trail."""
    for field, value in (("actor", actor), ("reason", reason)):
        if not isinstance(value, str) or INVALID_CHARACTERS.search(value):
            raise make_wrong_value_error(field, value, "a text without NUL or unpaired surrogates")
    return AuditContext(actor, reason)


def parse_job_id(value: Any) -> UUID:
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value)
    except (ValueError, TypeError, AttributeError):
        raise make_wrong_value_error("job_id", value, "the id of a job, a UUID") from None


def parse_gate(scope: str | Scope, name: Any) -> tuple[Scope, str]:
    """Return the scope and the name of a gate; the gate of everything has no name."""
    pausable = [known for known in Scope if known is not Scope.SERVICE]
    if scope not in pausable:
        raise WrongUse(f"scope: there is no {scope!r} to pause. There are: {', '.join(pausable)}.", field="scope")
    if scope == Scope.ALL:
        return Scope.ALL, ""
    return Scope(scope), parse_queue(name).label if scope == Scope.QUEUE else check_name(name)


async def replay_each(
    letters: Sequence[DeadLetter], replay: Callable[[UUID], Awaitable[Job]]
) -> list[tuple[DeadLetter, Job | Conflict]]:
    """Replay each dead letter; a conflict of one does not stop the others."""
    results: list[tuple[DeadLetter, Job | Conflict]] = []
    for letter in letters:
        try:
            results.append((letter, await replay(letter.job.id)))
        except Conflict as conflict:
            results.append((letter, conflict))
    return results
