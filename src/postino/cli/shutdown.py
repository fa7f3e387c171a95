"""How a process that runs until it is told to stop is told: by a signal, or by the end of whoever started it."""

import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
from types import FrameType

GRACE = 3.0  # seconds a process has to end what it does once the one that started it is gone
SIGNALS = (signal.SIGTERM, signal.SIGINT)
ONE_STOP = 1.0  # seconds in which signals are one request: supervisors signal a process and then its whole group


class Stop:
    """Asked once, the process ends in order; asked again later, it ends at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.event = asyncio.Event()
        self.asked_at: float | None = None

    def listen(self, *, until_eof: bool) -> None:
        for number in SIGNALS:
            signal.signal(number, self.on_signal)
        if until_eof:
            threading.Thread(target=self.at_eof, name="postino-lifeline", daemon=True).start()

    def on_signal(self, number: int, _: FrameType | None) -> None:
        # Not the loop's own way: a handler that blocks the loop must not keep the second signal from being heard.
        if self.asked_at is None:
            self.asked_at = time.monotonic()
        elif time.monotonic() - self.asked_at > ONE_STOP:
            os._exit(128 + number)
        self.set()

    def at_eof(self) -> None:
        """Standard input is a pipe from whoever started us; it ends when they do, however they do."""
        while os.read(sys.stdin.fileno(), 1024):
            pass
        self.set()
        threading.Event().wait(GRACE)
        os._exit(1)

    def set(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: it ends already
            self.loop.call_soon_threadsafe(self.event.set)
