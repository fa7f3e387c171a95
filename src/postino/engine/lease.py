"""A worker's lease: other workers may take its jobs once its last heartbeat is older than this.

From then on the worker sends nothing and starts nothing until a heartbeat has shown which jobs it still holds.
"""

import asyncio
from collections.abc import Callable

from postino.clock import uptime


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
