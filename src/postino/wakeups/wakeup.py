"""The contract of a wake-up: a hint that there may be work. Losing one costs at most a second, never a job."""

from typing import Protocol


class Wakeup(Protocol):
    def nudge(self) -> None:
        """Ends the wait in this process only."""
        ...

    def tell(self) -> None:
        """Says that there may be work, soon and at most once for many calls. Never fails."""
        ...

    async def listen(self) -> None:
        """Starts hearing what other processes tell; listening already is fine."""
        ...

    async def wait(self, seconds: float) -> bool:
        """Returns when told, True, or when the time is over, False."""
        ...

    async def close(self) -> None: ...
