"""The result of a forecast: which jobs would run when, which would not, and what each would wait for."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from postino.values.gate import Gate
from postino.values.job import Queue

TURN, PERSON, MISSED = "turn", "person", "missed"  # beside the kinds of gates


@dataclass(frozen=True, slots=True)
class WaitReason:
    """What a job waits for. `kind` is the kind of a gate, or TURN, PERSON or MISSED."""

    kind: str
    sentence: str
    until_at: datetime | None = None


WAITS_FOR_TURN = WaitReason(TURN, "The job waits until its account, its channel or a worker is free.")
NEEDS_PERSON = WaitReason(
    PERSON, "A person must say whether it was published: `postino posts resolve` or `postino jobs resolve`."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedJob:
    """A job that would start."""

    job_id: UUID
    type: str
    channel: str
    account: str | None
    brand: str | None
    queue: Queue
    scheduled_at: datetime
    started_at: datetime
    ended_at: datetime
    waited_for: tuple[WaitReason, ...] = ()

    @property
    def delay(self) -> timedelta:
        return max(self.started_at - self.scheduled_at, timedelta(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnstartedJob:
    """A job that would be due and not start by the end of the forecast."""

    job_id: UUID
    type: str
    channel: str
    account: str | None
    brand: str | None
    queue: Queue
    scheduled_at: datetime
    waits_for: tuple[WaitReason, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelTotal:
    """The number of jobs of one channel that would start and would not, and the longest delay."""

    channel: str
    started: int = 0
    unstarted: int = 0
    max_delay: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What would run from one time to another, with so many workers of so many slots each."""

    from_at: datetime
    until_at: datetime
    started_jobs: tuple[StartedJob, ...]
    unstarted_jobs: tuple[UnstartedJob, ...]
    gates: tuple[Gate, ...] = ()  # closed at some time in between
    workers: int = 1
    slots: int = 1
    notes: tuple[str, ...] = field(default=())

    def filter(self, channel: str | None, brand: str | None) -> "Forecast":
        """Return the forecast with only the jobs of this channel and brand; None matches all."""

        def matches(job: StartedJob | UnstartedJob) -> bool:
            return channel in (None, job.channel) and brand in (None, job.brand)

        started = tuple(job for job in self.started_jobs if matches(job))
        unstarted = tuple(job for job in self.unstarted_jobs if matches(job))
        return replace(self, started_jobs=started, unstarted_jobs=unstarted)

    def totals(self) -> list[ChannelTotal]:
        """Return the totals by channel, in the order of their names."""
        totals: dict[str, ChannelTotal] = {}
        for job in self.started_jobs:
            total = totals.get(job.channel, ChannelTotal(channel=job.channel))
            max_delay = max(total.max_delay, job.delay)
            totals[job.channel] = replace(total, started=total.started + 1, max_delay=max_delay)
        for waiting in self.unstarted_jobs:
            total = totals.get(waiting.channel, ChannelTotal(channel=waiting.channel))
            totals[waiting.channel] = replace(total, unstarted=total.unstarted + 1)
        return [totals[channel] for channel in sorted(totals)]
