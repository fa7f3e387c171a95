"""What people are told about a post that meets a blackout: when it goes out instead."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from postino.errors import Conflict
from postino.rules.blackout import Blackout, free_after, sentence, window_at
from postino.rules.blackout_impact import those_of
from postino.stores.records import NewJob
from postino.values.job import Job, State
from postino.values.post import StoredPost


@dataclass(frozen=True, slots=True)
class BlackoutConflict:
    """Whose post meets which blackout, until when that lasts, and when no other one is in the way either."""

    account: str
    blackout: Blackout
    until_at: datetime | None
    free_at: datetime | None


class InBlackout(Conflict):
    """It was to go out now, and nothing may. `free_at` is the first instant at which all of it may."""

    field = "at"

    def __init__(self, met: Sequence[BlackoutConflict], free_at: datetime | None, otherwise: str, undone: str) -> None:
        windows = " ".join(f"{window_of(meeting)}." for meeting in met)
        then = "There is no free time in a year" if free_at is None else f"The next free instant is {written(free_at)}"
        super().__init__(f"{undone} {windows} {then}: {otherwise}")
        self.free_at = free_at


def meetings(blackouts: Sequence[Blackout], jobs: Iterable[Job | NewJob], at: datetime) -> list[BlackoutConflict]:
    """Which of these are in a blackout at this instant; each with the one that lasts longest."""
    met = []
    for job in jobs:
        theirs = those_of(blackouts, job.channel, job.brand, job.account)
        found = [(each, window) for each in theirs if (window := window_at(each, at)) is not None]
        if found:
            longest, window = max(found, key=lambda it: (it[1].until_at is None, it[1].until_at or at))
            met.append(BlackoutConflict(job.account or job.channel, longest, window.until_at, free_after(theirs, at)))
    return met


def free_for_all(blackouts: Sequence[Blackout], jobs: Iterable[Job | NewJob], at: datetime) -> datetime | None:
    """The first instant at which none of these is in a blackout."""
    theirs = [each for job in jobs for each in those_of(blackouts, job.channel, job.brand, job.account)]
    return free_after({each.id: each for each in theirs}.values(), at)


def notes_of(blackouts: Sequence[Blackout], posts: Iterable[StoredPost], now: datetime) -> list[str]:
    """For plans: they are kept, and go out later than they say."""
    return [
        note_of(meeting, post.publish_until_at)
        for post in posts
        if post.job.run_at is not None and minds(post.job)
        for meeting in meetings(blackouts, [post.job], max(post.job.run_at, now))
    ]


def minds(job: Job) -> bool:
    """Whether a blackout holds it up: not what has begun to go out, nor what a person wants out all the same."""
    return job.state is State.PENDING and not job.sent and not job.regardless


def note_of(meeting: BlackoutConflict, publish_until_at: datetime | None) -> str:
    window, free_at = f"At that time {window_of(meeting)}", meeting.free_at
    if free_at is None:
        return f"{window}, and nothing is free within a year: it does not go out unless that changes."
    if publish_until_at is not None and free_at >= publish_until_at:
        late = f"publish_until is {written(publish_until_at)}: it will be missed"
        return f"{window}: it could go out at {written(free_at)}, but {late}."
    return f"{window}: it goes out at {written(free_at)}."


def window_of(meeting: BlackoutConflict) -> str:
    until = "" if meeting.until_at is None else f", until {written(meeting.until_at)}"
    why = f" — {meeting.blackout.reason}" if meeting.blackout.reason else ""
    return f"{meeting.account} is in a blackout window ({sentence(meeting.blackout)}{why}){until}"


def written(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
