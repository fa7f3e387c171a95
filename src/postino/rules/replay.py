"""Whether a dead letter may be replayed as it stands."""

from postino.rules.settlement import Cause

OR_FORCE = "edit its payload, or force it"


def why_not(cause: Cause, *, edited: bool, force: bool) -> str | None:
    """The reason against replaying, as told to a person; None if there is none."""
    if edited or force:
        return None
    match cause:
        case Cause.PERMANENT:
            return (
                "It was rejected as impossible, and unchanged it must fail again unless what stood in its way is gone"
                f" by now, such as a blocked account: {OR_FORCE}."
            )
        case Cause.POISON:
            return f"Its payload could not be read, and unchanged it never can be: {OR_FORCE}."
        case Cause.GIVEN_UP:
            return f"Somebody gave it up, because nobody knew whether it is out: {OR_FORCE}."
        case Cause.EXHAUSTED | Cause.QUARANTINED | Cause.MISSED:
            return None
