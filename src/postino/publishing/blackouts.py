"""Find the blackouts that hold a post, and describe when it is published instead."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from postino.errors import Conflict
from postino.rules.blackout import Blackout, describe_blackout, find_free_time, find_window
from postino.rules.blackout_impact import filter_blackouts
from postino.stores.records import NewJob
from postino.values.job import Job, State
from postino.values.post import StoredPost


@dataclass(frozen=True, slots=True)
class BlackoutConflict:
    """A blackout that holds an account's post: until when, and when no other blackout holds it either."""

    account: str
    blackout: Blackout
    until_at: datetime | None
    free_at: datetime | None


class InBlackout(Conflict):
    """A blackout holds the post. `free_at` is the first time at which no account of the post is in a blackout."""

    field = "at"

    def __init__(
        self, conflicts: Sequence[BlackoutConflict], free_at: datetime | None, advice: str, consequence: str
    ) -> None:
        windows = " ".join(f"{describe_conflict(conflict)}." for conflict in conflicts)
        then = (
            "There is no free time within a year"
            if free_at is None
            else f"The next free time is {format_time(free_at)}"
        )
        super().__init__(f"{consequence} {windows} {then}: {advice}")
        self.free_at = free_at


def find_blackouts(blackouts: Sequence[Blackout], jobs: Iterable[Job | NewJob], at: datetime) -> list[BlackoutConflict]:
    """Return, for each job that is in a blackout at this time, the one that lasts longest."""
    conflicts = []
    for job in jobs:
        relevant = filter_blackouts(blackouts, job.channel, job.brand, job.account)
        active = [(each, window) for each in relevant if (window := find_window(each, at)) is not None]
        if active:
            longest, window = max(active, key=lambda pair: (pair[1].until_at is None, pair[1].until_at or at))
            account = job.account or job.channel
            conflicts.append(BlackoutConflict(account, longest, window.until_at, find_free_time(relevant, at)))
    return conflicts


def find_common_free_time(blackouts: Sequence[Blackout], jobs: Iterable[Job | NewJob], at: datetime) -> datetime | None:
    """Return the first time at which none of these jobs is in a blackout; None if there is none within a year."""
    relevant = [each for job in jobs for each in filter_blackouts(blackouts, job.channel, job.brand, job.account)]
    return find_free_time({each.id: each for each in relevant}.values(), at)


def describe_delays(blackouts: Sequence[Blackout], posts: Iterable[StoredPost], now: datetime) -> list[str]:
    """Return a note for each scheduled post that a blackout delays: when it is published instead."""
    return [
        describe_delay(conflict, post.publish_until_at)
        for post in posts
        if post.job.run_at is not None and respects_blackouts(post.job)
        for conflict in find_blackouts(blackouts, [post.job], max(post.job.run_at, now))
    ]


def respects_blackouts(job: Job) -> bool:
    """Return whether blackouts hold this job: it has sent nothing yet, and no person allowed it to be published."""
    return job.state is State.PENDING and not job.may_be_live and not job.ignore_blackouts


def describe_delay(conflict: BlackoutConflict, publish_until_at: datetime | None) -> str:
    window, free_at = f"At that time {describe_conflict(conflict)}", conflict.free_at
    if free_at is None:
        return f"{window}, and there is no free time within a year: it does not go out unless that changes."
    if publish_until_at is not None and free_at >= publish_until_at:
        missed = f"publish_until is {format_time(publish_until_at)}: it will be missed"
        return f"{window}: it could go out at {format_time(free_at)}, but {missed}."
    return f"{window}: the post goes out at {format_time(free_at)}."


def describe_conflict(conflict: BlackoutConflict) -> str:
    until = "" if conflict.until_at is None else f", until {format_time(conflict.until_at)}"
    why = f" — {conflict.blackout.reason}" if conflict.blackout.reason else ""
    return f"{conflict.account} is in a blackout window ({describe_blackout(conflict.blackout)}{why}){until}"


def format_time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
