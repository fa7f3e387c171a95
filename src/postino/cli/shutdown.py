"""Stop a process in order: on a signal, or when its parent process ends."""

import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
from types import FrameType

GRACE = 3.0  # seconds a process has to end after its parent has
SIGNALS = (signal.SIGTERM, signal.SIGINT)
ONE_STOP = 1.0  # seconds in which signals are one request: supervisors signal a process and then its whole group


class ShutdownSignal:
    """The first request lets the process end in order; a later second one ends it at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.event = asyncio.Event()
        self.requested_at: float | None = None

    def listen(self, *, until_eof: bool) -> None:
        for number in SIGNALS:
            signal.signal(number, self.on_signal)
        if until_eof:
            threading.Thread(target=self.wait_for_eof, name="postino-lifeline", daemon=True).start()

    def on_signal(self, number: int, _: FrameType | None) -> None:
        # Not loop.add_signal_handler: a handler that blocks the loop must not delay the second signal.
        if self.requested_at is None:
            self.requested_at = time.monotonic()
        elif time.monotonic() - self.requested_at > ONE_STOP:
            os._exit(128 + number)
        self.set()

    def wait_for_eof(self) -> None:
        """Wait for the end of standard input, a pipe from the parent that closes when the parent ends."""
        while os.read(sys.stdin.fileno(), 1024):
            pass
        self.set()
        threading.Event().wait(GRACE)
        os._exit(1)

    def set(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is already closed
            self.loop.call_soon_threadsafe(self.event.set)
