"""Where a process may be killed on purpose: before and after everything that changes the world.

`POSTINO_CRASH=name:n` kills the process at the n-th passage of a point, without a word, as a power cut would. The crash
suite visits every point of this list.
"""

import os
import signal
from functools import cache

POINTS = (
    "enqueue.before",
    "enqueue.after",
    "create_posts.before",
    "create_posts.after",
    "register.before",
    "register.after",
    "survey.before",
    "survey.after",
    "claim.before",
    "claim.after",
    "usual_caps.before",
    "usual_caps.after",
    "usual_blackouts.before",
    "usual_blackouts.after",
    "suspect.before",
    "suspect.after",
    "act.before",
    "act.after",
    "remember.before",
    "remember.after",
    "forget.before",
    "forget.after",
    "spend.before",
    "spend.after",
    "intend.before",
    "intend.after",
    "send.before",
    "send.after",
    "unspend.before",
    "unspend.after",
    "cool.before",
    "cool.after",
    "answered.before",
    "answered.after",
    "note.before",
    "note.after",
    "look.before",
    "look.after",
    "perform.before",
    "perform.after",
    "settle.before",
    "settle.after",
    "rescue.before",
    "rescue.after",
    "release.before",
    "release.after",
    "retire.before",
    "retire.after",
    "beat.before",
    "beat.after",
    "take_duty.before",
    "take_duty.after",
    "awaken.before",
    "awaken.after",
    "pulse.before",
    "pulse.after",
    "miss_posts.before",
    "miss_posts.after",
    "prune.before",
    "prune.after",
    "finish_duty.before",
    "finish_duty.after",
    "hold_cursor.before",
    "hold_cursor.after",
    "hear.before",
    "hear.after",
    "move_cursor.before",
    "move_cursor.after",
    "drop_cursor.before",
    "drop_cursor.after",
)


class Passages:
    """Counts down to the passage that kills."""

    def __init__(self, point: str, left: int) -> None:
        self.point = point
        self.left = left


@cache
def armed() -> Passages | None:
    point, _, passage = os.environ.get("POSTINO_CRASH", "").partition(":")
    return Passages(point, int(passage or 1)) if point else None


def crashpoint(name: str) -> None:
    passages = armed()
    if passages is None or passages.point != name:
        return
    assert name in POINTS, f"{name} is not a registered crash point"
    passages.left -= 1
    if passages.left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
