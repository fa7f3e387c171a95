"""Whether a dead letter may be replayed as it stands."""

from postino.rules.settlement import DeadLetterCause

OR_FORCE = "edit its payload, or force it"


def explain_refusal(cause: DeadLetterCause, *, edited: bool, force: bool) -> str | None:
    """The reason against replaying, as told to a person; None if there is none."""
    if edited or force:
        return None
    match cause:
        case DeadLetterCause.PERMANENT:
            return (
                "It was rejected as impossible, and unchanged it must fail again unless what stood in its way is gone"
                f" by now, such as a blocked account: {OR_FORCE}."
            )
        case DeadLetterCause.POISON:
            return f"Its payload could not be read, and unchanged it never can be: {OR_FORCE}."
        case DeadLetterCause.GIVEN_UP:
            return f"Somebody gave it up, because nobody knew whether it is out: {OR_FORCE}."
        case DeadLetterCause.EXHAUSTED | DeadLetterCause.WORKER_KILLER | DeadLetterCause.MISSED:
            return None
