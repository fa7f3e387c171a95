"""Whether a dead letter may be replayed as it stands."""

from postino.rules.settlement import Cause


def why_not(cause: Cause, *, edited: bool, force: bool) -> str | None:
    """The reason against replaying, as told to a person; None if there is none."""
    if edited or force:
        return None
    match cause:
        case Cause.PERMANENT:
            return "It was rejected as impossible, and unchanged it must fail again: edit its payload, or force it."
        case Cause.POISON:
            return "Its payload could not be read, and unchanged it never can be: edit its payload, or force it."
        case Cause.EXHAUSTED | Cause.QUARANTINED | Cause.MISSED:
            return None
