"""Wait for locks that other processes hold, where SQLite itself does not wait."""

import time
from collections.abc import Callable

LOCK_SECONDS = 5.0
PAUSE = 0.005


def retry_while_locked(action: Callable[[], object], locked: type[Exception]) -> None:
    """Try an action again while it raises this error, and raise the error after some seconds."""
    give_up_at = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            action()
        except locked:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(PAUSE)
        else:
            return
