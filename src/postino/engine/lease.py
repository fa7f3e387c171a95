"""A worker's lease: other workers may take its jobs once its last heartbeat is older than this.

From then on the worker sends nothing and starts nothing until a heartbeat has shown which jobs it still holds.
"""

import asyncio
import time
from collections.abc import Callable

BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # on macOS, time asleep does not count


def uptime() -> float:
    """Return the seconds since boot. This clock is never set, and it runs while the machine sleeps."""
    return time.clock_gettime(BOOT_CLOCK)


class Lease:
    """When this worker's heartbeat last reached the store, and how long that counts."""

    def __init__(self, seconds: float, clock: Callable[[], float] = uptime) -> None:
        self.seconds = seconds
        self.clock = clock
        self.renewed_at = clock()  # also set by the heartbeat thread
        self.confirmed = asyncio.Event()

    def is_expired(self) -> bool:
        return self.clock() - self.renewed_at > self.seconds

    def may_send(self) -> str | None:
        """Return why nothing may be sent now, or None."""
        return "This worker's lease has expired, so it sends nothing." if self.is_expired() else None

    def confirm(self) -> None:
        """Say that jobs which other workers have taken over are stopped."""
        self.confirmed.set()

    async def wait_until_renewed(self) -> None:
        """Wait for a heartbeat after which all jobs that others have taken over are stopped."""
        while self.is_expired():
            self.confirmed.clear()
            await self.confirmed.wait()
