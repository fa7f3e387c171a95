"""A clock that moves only when a test moves it."""

from datetime import UTC, datetime, timedelta

START = datetime(2030, 1, 1, 12, tzinfo=UTC)


class VirtualClock:
    """Call it to get its time, which changes only by `advance` or `move_to`."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, duration: timedelta) -> None:
        """Move the clock forward. Raises ValueError if the duration is negative."""
        self.move_to(self.now + duration)

    def move_to(self, at: datetime) -> None:
        """Move the clock forward to a time. Raises ValueError if that is in its past."""
        if at < self.now:
            raise ValueError(f"A clock never goes back: it is {self.now}, and {at} is earlier.")
        self.now = at
