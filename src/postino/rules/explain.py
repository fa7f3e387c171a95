"""Why a job has not run, for people: one plain sentence, what is in its way, and when it will go on."""

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

SHOW_SECONDS_WITHIN = timedelta(minutes=10)  # within which seconds matter
OPEN_ENDINGS = {
    BlockerKind.PAUSE: "it waits until somebody resumes it",
    BlockerKind.BLACKOUT: "it waits until that window is removed",
    BlockerKind.BREAKER: "it waits until somebody says that it is well again",
    BlockerKind.COOL_DOWN: "it waits until somebody ends that",
    BlockerKind.QUOTA: "it waits until there is some again",
    BlockerKind.CAP: "it goes on as soon as there is room",
    BlockerKind.TOKEN: "it waits until the account is connected again",
    BlockerKind.AWAITING_LOOKUP: "it waits until somebody says so",
    BlockerKind.NO_WORKER: "it waits until one is started",
}
TEMPORARY = (BlockerKind.CAP, BlockerKind.NO_WORKER)  # others' ends and beginnings, which need no decision


@dataclass(frozen=True, slots=True)
class Explanation:
    """`eta` is when it goes on if nothing else happens; None where no clock can tell, or there is nothing to come."""

    sentence: str
    blockers: tuple[Blocker, ...] = ()
    eta: datetime | None = None
    runnable: bool = False  # a claim would take it now, in its turn


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Whether a job could run at a time, and whether it would meet another there."""

    runnable: bool
    in_blackout: bool
    has_collision: bool
    blockers: tuple[Blocker, ...] = ()


@dataclass(frozen=True, slots=True)
class TimeFormatter:
    """How a clock tells the time: to the second where that is near, with the day where that is another."""

    now: datetime
    zone: ZoneInfo | None = None

    def __call__(self, at: datetime) -> str:
        local, today = (instant.astimezone(self.zone or UTC) for instant in (at, self.now))
        return self.clock(at) if local.date() == today.date() else self.with_day(at)

    def with_day(self, at: datetime) -> str:
        """For what stays so: it may be read again on another day."""
        return f"{at.astimezone(self.zone or UTC):%Y-%m-%d} {self.clock(at)}"

    def clock(self, at: datetime) -> str:
        local = at.astimezone(self.zone or UTC)
        clock = f"{local:%H:%M:%S}" if abs(at - self.now) < SHOW_SECONDS_WITHIN and local.second else f"{local:%H:%M}"
        return f"{clock} {self.zone.key if self.zone else 'UTC'}"


def explain_job(facts: JobSnapshot, now: datetime, zone: ZoneInfo | None = None) -> Explanation:
    face = TimeFormatter(now, zone)
    if facts.job.state is State.RUNNING or facts.job.state.is_final:
        return Explanation(_describe_state(facts, face))
    blockers = find_blockers(facts, now)
    runnable = all(blocker.kind in WORKER_BLOCKERS for blocker in blockers)
    eta = estimate_start(facts, now)
    if eta == now and blockers and blockers[0].kind is not BlockerKind.LAG:
        eta = None  # others' ends, or a worker's start, are in nobody's calendar
    return Explanation(_describe_wait(facts, blockers, eta, face), blockers, eta, runnable)


def evaluate_job(facts: JobSnapshot, has_collision: bool, now: datetime) -> Evaluation:
    """What would be in its way when it is due. What ends before then does not count."""
    there = tuple(it for it in find_blockers(facts, now) if it.kind not in (BlockerKind.NOT_DUE, BlockerKind.LAG))
    blackout = any(blocker.kind is BlockerKind.BLACKOUT for blocker in there)
    return Evaluation(not there, blackout, has_collision, there)


def _name_job(job: Job) -> str:
    if job.type == POST:
        return f"This post for {job.account or job.channel}"
    return f"This job of {job.channel}" + (f" for {job.account}" if job.account else "")


def _describe_state(facts: JobSnapshot, face: TimeFormatter) -> str:
    job, who = facts.job, _name_job(facts.job)
    at = face.with_day(job.finished_at) if job.finished_at else ""
    match job.state:
        case State.RUNNING:
            since = face.with_day(job.claimed_at) if job.claimed_at else "now"
            verb = "is being published" if job.type == POST else "is running"
            return f"{who} {verb} since {since}, by worker {job.claimed_by}."
        case State.COMPLETED:
            return f"{who} was {'published' if job.type == POST else 'completed'} at {at}."
        case State.CANCELLED:
            by = f" {facts.cancelled_by}" if facts.cancelled_by else ""
            return f"{who} was cancelled at {at}{by}, and that is final."
        case _:
            why = (job.last_error or "nobody knows why").rstrip(".")
            return f"{who} failed at {at}: {why}. {_advise_replay(job, facts.cause)}"


def _advise_replay(job: Job, cause: DeadLetterCause | None) -> str:
    """With a command that is not refused."""
    command = f"postino {'posts' if job.type == POST else 'jobs'} replay {job.id}"
    match cause:
        case DeadLetterCause.PERMANENT | DeadLetterCause.POISON:
            told = "Unchanged it must fail again; if what stood in its way is gone, replay it"
            return f"{told}: `{command} --force --reason WHY`."
        case DeadLetterCause.GIVEN_UP:
            return f"It stays so unless it is replayed all the same: `{command} --force --reason WHY`."
        case _:
            return f"It stays so unless it is replayed: `{command} --reason WHY`."


def _describe_wait(facts: JobSnapshot, blockers: tuple[Blocker, ...], eta: datetime | None, face: TimeFormatter) -> str:
    job, who = facts.job, _name_job(facts.job)
    held = [blocker for blocker in blockers if blocker.kind not in (BlockerKind.NOT_DUE, BlockerKind.AWAITING_LOOKUP)]
    if job.run_at is None:
        return f"Nobody but a person can tell whether {_lower_first(who)} is out: look, and say so."
    if job.run_at > face.now:
        said = _describe_due_time(job, face)
        said = (
            f"{said}, but then {_describe_blocker(held[0], face)}; {_describe_end(held, eta, face)}" if held else said
        )
    elif not held:
        said = f"{who} is due, and starts at any moment"
    elif held[0].kind is BlockerKind.LAG:
        said = f"{who} has been due since {face.with_day(job.run_at)}: {_lower_first(held[0].sentence.rstrip('.'))}"
    else:
        said = f"{who} waits because {_describe_blocker(held[0], face)}; {_describe_end(held, eta, face)}"
    return f"{said}.{_warn_of_deadline(facts, eta, face)}"


def _describe_due_time(job: Job, face: TimeFormatter) -> str:
    assert job.run_at is not None
    if job.state is State.UNCERTAIN:
        name = _lower_first(_name_job(job))
        return f"Nobody knows yet whether {name} is out; the network is asked at {face(job.run_at)}"
    again = job.attempts > 0 or job.deferral_reason is not None
    why = (job.deferral_reason or job.last_error or "").rstrip(".") if again else ""
    told = f"{_name_job(job)} is {'tried again' if again else 'due'} at {face(job.run_at)}"
    return f"{told} ({why})" if why else told


def _warn_of_deadline(facts: JobSnapshot, eta: datetime | None, face: TimeFormatter) -> str:
    """A post that may not go out as late as that ends without having gone out."""
    until_at = facts.publish_until_at
    if until_at is None or eta is None or eta < until_at or facts.job.may_be_live:
        return ""
    return f" It may not go out after {face(until_at)}: it will be missed unless you reschedule it."


def _describe_blocker(blocker: Blocker, face: TimeFormatter) -> str:
    since = ""
    if blocker.since_at is not None:
        since = f", since {face.with_day(blocker.since_at)}"
    return _lower_first(blocker.sentence.rstrip(".")) + since


def _describe_end(held: list[Blocker], eta: datetime | None, face: TimeFormatter) -> str:
    if eta is not None:
        return f"it goes on at {face(eta)}"
    endless = [blocker.kind for blocker in held if blocker.until_at is None]
    endless.sort(key=TEMPORARY.__contains__)
    return OPEN_ENDINGS[endless[0]] if endless else "nobody can tell when it goes on"


def _lower_first(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
