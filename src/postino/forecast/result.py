"""The result of a forecast: which jobs would run when, which would not, and what each would wait for."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from postino.rules.gates import describe_closed_gate
from postino.rules.local_time import format_time
from postino.values.gate import Gate
from postino.values.job import Queue

TURN, PERSON, MISSED = "turn", "person", "missed"  # beside the kinds of gates


@dataclass(frozen=True, slots=True)
class WaitReason:
    """What a job waits for. `kind` is the kind of a gate, or TURN, PERSON or MISSED."""

    kind: str
    sentence: str
    until_at: datetime | None = None


WAITS_FOR_TURN = WaitReason(TURN, "It waits for its turn: for its account, its channel or a worker to be free.")
NEEDS_PERSON = WaitReason(
    PERSON, "A person must say whether it was published: `postino posts resolve` or `postino jobs resolve`."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastJob:
    """A job that would run."""

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
    def late_by(self) -> timedelta:
        return max(self.started_at - self.scheduled_at, timedelta(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnstartedJob:
    """A job that would be due and not run by the end of the forecast."""

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
    """The number of jobs of one channel that would run and would not, and the longest delay."""

    channel: str
    ran: int = 0
    left: int = 0
    latest: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What would run from one time to another, with so many workers of so many slots each."""

    from_at: datetime
    until_at: datetime
    ran: tuple[ForecastJob, ...]
    left: tuple[UnstartedJob, ...]
    gates: tuple[Gate, ...] = ()  # closed at some time in between
    workers: int = 1
    slots: int = 1
    notes: tuple[str, ...] = field(default=())

    def filter(self, channel: str | None, brand: str | None) -> "Forecast":
        """Return the forecast with only the jobs of this channel and brand; None matches all."""

        def matches(job: ForecastJob | UnstartedJob) -> bool:
            return channel in (None, job.channel) and brand in (None, job.brand)

        ran = tuple(job for job in self.ran if matches(job))
        return replace(self, ran=ran, left=tuple(job for job in self.left if matches(job)))

    def totals(self) -> list[ChannelTotal]:
        """Return the totals by channel, in the order of their names."""
        totals: dict[str, ChannelTotal] = {}
        for job in self.ran:
            total = totals.get(job.channel, ChannelTotal(channel=job.channel))
            totals[job.channel] = replace(total, ran=total.ran + 1, latest=max(total.latest, job.late_by))
        for left in self.left:
            total = totals.get(left.channel, ChannelTotal(channel=left.channel))
            totals[left.channel] = replace(total, left=total.left + 1)
        return [totals[channel] for channel in sorted(totals)]


def render_forecast(forecast: Forecast) -> dict[str, Any]:
    """Return the forecast as JSON."""
    return {
        "from": format_time(forecast.from_at),
        "until": format_time(forecast.until_at),
        "workers": forecast.workers,
        "slots": forecast.slots,
        "ran": [render_ran(job) for job in forecast.ran],
        "left": [render_job(job) | {"waits_for": render_waits(job.waits_for)} for job in forecast.left],
        "totals": [render_total(total) for total in forecast.totals()],
        "gates": [render_gate(gate) for gate in forecast.gates],
        "notes": [*forecast.notes],
    }


def render_ran(job: ForecastJob) -> dict[str, Any]:
    return render_job(job) | {
        "started_at": format_time(job.started_at),
        "ended_at": format_time(job.ended_at),
        "late_by": job.late_by.total_seconds(),
        "waited_for": render_waits(job.waited_for),
    }


def render_job(job: ForecastJob | UnstartedJob) -> dict[str, Any]:
    return {
        "id": str(job.job_id),
        "type": job.type,
        "channel": job.channel,
        "account": job.account,
        "brand": job.brand,
        "queue": job.queue.label,
        "scheduled_at": format_time(job.scheduled_at),
    }


def render_waits(waits: Iterable[WaitReason]) -> list[dict[str, Any]]:
    return [
        {"kind": wait.kind, "sentence": wait.sentence, "until_at": wait.until_at and format_time(wait.until_at)}
        for wait in waits
    ]


def render_total(total: ChannelTotal) -> dict[str, Any]:
    late_by = total.latest.total_seconds()
    return {"channel": total.channel, "ran": total.ran, "left": total.left, "latest_late_by": late_by}


def render_gate(gate: Gate) -> dict[str, Any]:
    return {
        "scope": gate.scope.value,
        "name": gate.name,
        "kind": gate.kind.value,
        "since_at": gate.since_at and format_time(gate.since_at),
        "until_at": gate.until_at and format_time(gate.until_at),
        "sentence": describe_closed_gate(gate),
    }
