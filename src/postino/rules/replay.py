"""Decide whether a dead letter may be replayed unchanged."""

from postino.rules.settlement import DeadLetterCause

OR_FORCE = "Edit its payload, or force the replay."


def find_replay_objection(cause: DeadLetterCause, *, edited: bool, force: bool) -> str | None:
    """Return why the replay is refused, for people; None if it is allowed."""
    if edited or force:
        return None
    match cause:
        case DeadLetterCause.PERMANENT:
            return (
                f"It was rejected and would fail again unless the cause, such as a blocked account, is gone. {OR_FORCE}"
            )
        case DeadLetterCause.POISON:
            return f"Its payload cannot be read. {OR_FORCE}"
        case DeadLetterCause.GIVEN_UP:
            return f"A person gave it up, because nobody knew whether it was published. {OR_FORCE}"
        case DeadLetterCause.EXHAUSTED | DeadLetterCause.WORKER_KILLER | DeadLetterCause.MISSED:
            return None
