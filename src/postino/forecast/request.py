"""What a forecast is asked for."""

from dataclasses import dataclass, field
from datetime import datetime

from postino.engine.channel_limits import ChannelLimits

MAX_JOBS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastRequest:
    """A time span, a filter, and assumptions.

    Without `workers`, as many as are running; without `seconds_per_job`, as long as the channel's jobs took lately.
    """

    until_at: datetime
    from_at: datetime | None = None
    channel: str | None = None
    brand: str | None = None
    workers: int | None = None
    slots: int = 200
    seconds_per_job: float | None = None
    give_up_after: float = 21_600.0  # seconds that a post waits for a network whose circuit is open
    channel_limits: ChannelLimits = field(default_factory=ChannelLimits)
    max_jobs: int = MAX_JOBS
