"""Compute which jobs a new blackout would delay, and until when."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from postino.rules.blackout import Blackout, applies_to, find_free_time, find_window
from postino.values.job import Job, State

AHEAD = timedelta(days=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayedJob:
    """A job that the blackout would delay. `moves_to` is None if no free time is left."""

    job_id: UUID
    type: str
    channel: str
    account: str | None
    brand: str | None
    scheduled_at: datetime
    goes_at: datetime
    moves_to: datetime | None


def compute_impact(job: Job, others: Iterable[Blackout], added: Blackout, now: datetime) -> DelayedJob | None:
    """Return the delay of a job; None if this blackout does not affect it within 60 days."""
    is_affected = job.state is State.PENDING and not job.may_be_live and not job.ignore_blackouts
    if not is_affected or job.run_at is None or job.run_at > now + AHEAD:
        return None
    if not applies_to(added, channel=job.channel, brand=job.brand, account=job.account):
        return None
    in_force = filter_blackouts(others, job.channel, job.brand, job.account)
    goes_at = find_free_time(in_force, max(job.run_at, now))
    if goes_at is None or find_window(added, goes_at) is None:
        return None
    return DelayedJob(
        job_id=job.id,
        type=job.type,
        channel=job.channel,
        account=job.account,
        brand=job.brand,
        scheduled_at=job.scheduled_at,
        goes_at=goes_at,
        moves_to=find_free_time([*in_force, added], goes_at),
    )


def filter_blackouts(
    blackouts: Iterable[Blackout], channel: str, brand: str | None, account: str | None
) -> list[Blackout]:
    """Return the blackouts that cover this channel, brand and account."""
    return [each for each in blackouts if applies_to(each, channel=channel, brand=brand, account=account)]
