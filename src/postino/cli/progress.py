"""How far something is, for people who wait at a terminal."""

import sys
import time

WORTH_TELLING = 1000
EVERY = 0.2  # seconds


class ProgressLine:
    """Says nothing of what takes a moment, and takes back what it said."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.again_at = time.monotonic() + 2 * EVERY
        self.told = False

    def tell(self, done: int, all_: int) -> None:
        if all_ >= WORTH_TELLING and sys.stderr.isatty() and time.monotonic() >= self.again_at:
            sys.stderr.write(f"\r{done:,} of {all_:,} {self.what} …")
            sys.stderr.flush()
            self.again_at, self.told = time.monotonic() + EVERY, True

    def clear(self) -> None:
        if self.told:
            sys.stderr.write("\r\x1b[K")
