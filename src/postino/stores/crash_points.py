"""Crash points: places where a process can be killed on purpose, before and after everything that changes the world.

`POSTINO_CRASH=name:n` kills the process with SIGKILL at the n-th passage of a point, as a power cut would.
"""

import os
import signal
from functools import cache


class Countdown:
    """The armed crash point and how many passages are left."""

    def __init__(self, point: str, left: int) -> None:
        self.point = point
        self.left = left


@cache
def armed() -> Countdown | None:
    """Return the countdown that `POSTINO_CRASH` asks for, if any."""
    point, _, passage = os.environ.get("POSTINO_CRASH", "").partition(":")
    return Countdown(point, int(passage or 1)) if point else None


def crash_point(name: str) -> None:
    """Kill this process if the named point is armed and this is the passage it is armed for."""
    countdown = armed()
    if countdown is None or countdown.point != name:
        return
    countdown.left -= 1
    if countdown.left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
