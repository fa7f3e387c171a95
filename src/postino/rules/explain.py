"""Explain to people why a job has not run: one sentence, its blockers, and when it continues.

It only reads what `rules.blockers` decides. It never decides whether a job may run.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from postino.rules.blockers import (
    WORKER_BLOCKERS,
    Blocker,
    BlockerKind,
    JobSnapshot,
    RunningJob,
    UncertainJob,
    estimate_start,
    find_blockers,
)
from postino.rules.replay import find_replay_objection
from postino.rules.settlement import DeadLetterCause
from postino.values.job import Job, State
from postino.values.post import POST

__all__ = [
    "Blocker",
    "BlockerKind",
    "Evaluation",
    "Explanation",
    "JobSnapshot",
    "RunningJob",
    "UncertainJob",
    "evaluate_job",
    "explain_job",
]

SHOW_SECONDS_WITHIN = timedelta(minutes=10)
OPEN_ENDINGS = {
    BlockerKind.DATABASE: "when somebody says what the database is",
    BlockerKind.PAUSE: "when somebody resumes it",
    BlockerKind.BLACKOUT: "when the blackout is removed",
    BlockerKind.BREAKER: "when somebody closes the circuit",
    BlockerKind.COOLDOWN: "when somebody ends the cooldown",
    BlockerKind.QUOTA: "when the quota allows it",
    BlockerKind.CAP: "as soon as a slot is free",
    BlockerKind.TOKEN: "when the account is reconnected",
    BlockerKind.AWAITING_LOOKUP: "when somebody resolves it",
    BlockerKind.NO_WORKER: "when a worker starts",
    BlockerKind.NO_HANDLER: "when a worker with a handler for it starts",
}
TEMPORARY = (BlockerKind.CAP, BlockerKind.NO_WORKER, BlockerKind.NO_HANDLER)  # they end without anybody's decision


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a job waits. `eta` is None where no clock can tell, or where nothing is left to happen."""

    sentence: str
    blockers: tuple[Blocker, ...] = ()
    eta: datetime | None = None
    runnable: bool = False  # a worker may claim it now


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Whether a job could run at a given time, and whether another job is there already.

    That is a job planned for about the same time on the same channel: of the account, or without one of the brand.
    """

    runnable: bool
    in_blackout: bool
    has_collision: bool
    blockers: tuple[Blocker, ...] = ()


@dataclass(frozen=True, slots=True)
class TimeFormatter:
    """Formats times for people: with seconds if they are near, with the date if it is not today."""

    now: datetime
    zone: ZoneInfo | None = None

    def format(self, at: datetime) -> str:
        local, today = (instant.astimezone(self.zone or UTC) for instant in (at, self.now))
        return self.format_clock(at) if local.date() == today.date() else self.format_date(at)

    def format_date(self, at: datetime) -> str:
        """Always include the date: the sentence may be read on another day."""
        return f"{at.astimezone(self.zone or UTC):%Y-%m-%d} {self.format_clock(at)}"

    def format_clock(self, at: datetime) -> str:
        local = at.astimezone(self.zone or UTC)
        clock = f"{local:%H:%M:%S}" if abs(at - self.now) < SHOW_SECONDS_WITHIN and local.second else f"{local:%H:%M}"
        return f"{clock} {self.zone.key if self.zone else 'UTC'}"


def explain_job(snapshot: JobSnapshot, now: datetime, zone: ZoneInfo | None = None) -> Explanation:
    """Explain why the job has not run, with times in `zone`."""
    times = TimeFormatter(now, zone)
    if snapshot.job.state is State.RUNNING or snapshot.job.state.is_final:
        return Explanation(_describe_state(snapshot, times))
    blockers = find_blockers(snapshot, now)
    runnable = all(blocker.kind in WORKER_BLOCKERS for blocker in blockers)
    eta = estimate_start(snapshot, now)
    if eta == now and blockers and blockers[0].kind is not BlockerKind.LAG:
        eta = None  # the time at which other jobs end or a worker starts is unknown
    return Explanation(_describe_wait(snapshot, blockers, eta, times), blockers, eta, runnable)


def evaluate_job(snapshot: JobSnapshot, has_collision: bool, now: datetime) -> Evaluation:
    """Return what would block the job when it is due. What ends before then does not count."""
    ignored = (BlockerKind.NOT_DUE, BlockerKind.LAG)
    blockers = tuple(blocker for blocker in find_blockers(snapshot, now) if blocker.kind not in ignored)
    in_blackout = any(blocker.kind is BlockerKind.BLACKOUT for blocker in blockers)
    return Evaluation(not blockers, in_blackout, has_collision, blockers)


def _name_job(job: Job) -> str:
    if job.type == POST:
        return f"This post for {job.account or job.channel}"
    return f"This job of {job.channel}" + (f" for {job.account}" if job.account else "")


def _describe_state(snapshot: JobSnapshot, times: TimeFormatter) -> str:
    job, name = snapshot.job, _name_job(snapshot.job)
    at = times.format_date(job.finished_at) if job.finished_at else ""
    match job.state:
        case State.RUNNING:
            since = f" since {times.format_date(job.claimed_at)}" if job.claimed_at else ""
            verb = "publishing" if job.type == POST else "running"
            return f"Worker {job.claimed_by} has been {verb} {_lower_first(name)}{since}."
        case State.COMPLETED:
            return f"{name} was {'published' if job.type == POST else 'completed'} at {at}."
        case State.CANCELLED:
            by = f" {snapshot.cancelled_by}" if snapshot.cancelled_by else ""
            return f"{name} was cancelled at {at}{by}. This is final."
        case _:
            error = (job.last_error or "unknown error").rstrip(".")
            return f"{name} failed at {at}: {error}. {_advise_replay(job, snapshot.cause)}"


def _advise_replay(job: Job, cause: DeadLetterCause | None) -> str:
    """Return a replay command that is not refused."""
    command = f"postino {'posts' if job.type == POST else 'jobs'} replay {job.id}"
    if cause is None or find_replay_objection(cause, edited=False, force=False) is None:
        return f"To replay it: `{command} --reason WHY`."
    if cause is DeadLetterCause.GIVEN_UP:
        return f"To replay it anyway: `{command} --force --reason WHY`."
    return f"It fails again unless the cause is fixed. To replay it: `{command} --force --reason WHY`."


def _describe_wait(
    snapshot: JobSnapshot, blockers: tuple[Blocker, ...], eta: datetime | None, times: TimeFormatter
) -> str:
    job, name = snapshot.job, _name_job(snapshot.job)
    own = (BlockerKind.NOT_DUE, BlockerKind.AWAITING_LOOKUP)  # the job's own time says the same
    blocking = [blocker for blocker in blockers if blocker.kind not in own]
    if job.run_at is None:
        done = "published" if job.type == POST else "completed"
        return f"Only a person can tell whether {_lower_first(name)} was {done}. Check it, then resolve it."
    if job.run_at > times.now:
        sentence = _describe_due_time(job, times)
        if blocking:
            sentence = f"{sentence}, but will wait: {_describe_blocking(blocking, eta, times)}"
    elif not blocking:
        sentence = f"{name} is due and starts at any moment"
    elif blocking[0].kind is BlockerKind.LAG:
        lag = _lower_first(blocking[0].sentence.rstrip("."))
        sentence = f"{name} has been due since {times.format_date(job.run_at)}: {lag}"
    else:
        sentence = f"{name} is waiting: {_describe_blocking(blocking, eta, times)}"
    return f"{sentence}.{_warn_of_deadline(snapshot, eta, times)}"


def _describe_due_time(job: Job, times: TimeFormatter) -> str:
    assert job.run_at is not None
    at = times.format(job.run_at)
    if job.state is State.UNCERTAIN:
        done = "published" if job.type == POST else "completed"
        name = _lower_first(_name_job(job))
        return f"Postino does not know yet whether {name} was {done}. It asks the network at {at}"
    is_retry = job.attempts > 0 or job.deferral_reason is not None
    reason = (job.deferral_reason or job.last_error or "").rstrip(".") if is_retry else ""
    sentence = f"{_name_job(job)} {'will be retried' if is_retry else 'is due'} at {at}"
    return f"{sentence} ({reason})" if reason else sentence


def _warn_of_deadline(snapshot: JobSnapshot, eta: datetime | None, times: TimeFormatter) -> str:
    """Warn if the post would start after the time until which it may be published."""
    until_at = snapshot.publish_until_at
    if until_at is None or eta is None or eta < until_at or snapshot.job.may_be_live:
        return ""
    return f" It must not be published after {times.format(until_at)}: reschedule it, or it will be missed."


def _describe_blocking(blocking: list[Blocker], eta: datetime | None, times: TimeFormatter) -> str:
    """Describe the first blocker with its times, then when the job continues if that is another time."""
    first = blocking[0]
    sentence = _lower_first(first.sentence.rstrip("."))
    if first.until_at is not None:
        sentence += f" until {times.format(first.until_at)}"
    if first.since_at is not None:
        sentence += f" (since {times.format_date(first.since_at)})"
    if eta is not None:
        return sentence if eta == first.until_at else f"{sentence}. It continues at {times.format(eta)}"
    endless = [blocker for blocker in blocking if blocker.until_at is None]
    endless.sort(key=lambda blocker: blocker.kind in TEMPORARY)
    if not endless:
        return f"{sentence}. It continues at a time that nobody can tell yet"
    return f"{sentence}. It continues {endless[0].ending or OPEN_ENDINGS[endless[0].kind]}"


def _lower_first(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
