"""The contract of a wake-up: a hint that there may be work. Losing one costs at most a second, never a job."""

from typing import Protocol


class Wakeup(Protocol):
    def notify_local(self) -> None:
        """End the wait in this process only."""
        ...

    def notify(self) -> None:
        """Tell all workers soon that there may be work, once for many calls. Never raises."""
        ...

    async def listen(self) -> None:
        """Start receiving notifications of other processes; does nothing if already listening."""
        ...

    async def wait(self, seconds: float) -> bool:
        """Wait for a notification and return True, or False after this many seconds."""

        ...

    async def close(self) -> None: ...
