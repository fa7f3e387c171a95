"""Crash points: places where a test can kill the process, before and after every write and every outbound call.

`POSTINO_CRASH=name:n` kills the process with SIGKILL when it passes a point for the n-th time, as a power cut would.
A simulation watches the points instead, because its processes share one.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

watchers: list[Callable[[str], object]] = []


class Countdown:
    """The armed crash point and how many passages are left."""

    def __init__(self, point: str, left: int) -> None:
        self.point = point
        self.left = left


@cache
def read_countdown() -> Countdown | None:
    """Return the countdown that `POSTINO_CRASH` asks for, if any."""
    point, _, passage = os.environ.get("POSTINO_CRASH", "").partition(":")
    return Countdown(point, int(passage or 1)) if point else None


def crash_point(name: str) -> None:
    """Kill this process if the named point is armed and this is the passage it is armed for."""
    for watcher in watchers:
        watcher(name)
    countdown = read_countdown()
    if countdown is None or countdown.point != name:
        return
    countdown.left -= 1
    if countdown.left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def watch_crash_points(watcher: Callable[[str], object]) -> Iterator[None]:
    """Call the watcher with the name of each point that is passed."""
    watchers.append(watcher)
    try:
        yield
    finally:
        watchers.remove(watcher)
