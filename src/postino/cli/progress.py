"""Show progress to people who wait at a terminal."""

import sys
import time

MIN_ITEMS = 1000
INTERVAL = 0.2  # seconds


class ProgressLine:
    """A line that appears only if the work takes long, and disappears at the end."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.next_at = time.monotonic() + 2 * INTERVAL
        self.is_visible = False

    def update(self, done: int, total: int) -> None:
        if total >= MIN_ITEMS and sys.stderr.isatty() and time.monotonic() >= self.next_at:
            sys.stderr.write(f"\r{done:,} of {total:,} {self.label} …")
            sys.stderr.flush()
            self.next_at, self.is_visible = time.monotonic() + INTERVAL, True

    def clear(self) -> None:
        if self.is_visible:
            sys.stderr.write("\r\x1b[K")
