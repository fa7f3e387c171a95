"""Compare what is live on the networks with what the store says at the end of a run."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from uuid import UUID

from postino import Job, NotFound, State
from postino.stores.records import DeadLetterFilter, JobFilter
from postino.values.event import EventType
from postino.values.provider import PromiseClass
from tests.crash.publishing.harness import AcceptedPost, PublishingHarness
from tests.crash.publishing.oracle import LivePost
from tests.crash.sql import to_uuid
from tests.crash.verdict import list_unreachable

EVENTS = "SELECT job_id, type FROM postino.events WHERE job_id IS NOT NULL"
HOLDS = "SELECT channel, account, remote_id, job_id FROM postino.remote_ids"
EVERYTHING = 10_000
END_EVENTS = {
    State.COMPLETED: EventType.COMPLETED,
    State.FAILED: EventType.FAILED,
    State.UNCERTAIN: EventType.UNCERTAIN,
    State.CANCELLED: EventType.CANCELLED,
}  # the event that each end needs
Place = tuple[str, str, str]  # network, account, text


@dataclass
class Verdict:
    """How the posts ended, and the violations; each line names a post."""

    ends: Counter[tuple[PromiseClass, State]] = field(default_factory=Counter)
    duplicates: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    left_to_person: dict[UUID, Job] = field(
        default_factory=dict
    )  # waiting for a person although the network has a lookup

    @property
    def violations(self) -> list[str]:
        return [*self.duplicates, *self.lost, *self.silent, *self.wrong]


@dataclass(frozen=True)
class Evidence:
    """The facts that the verdict is based on, read once."""

    live: dict[Place, list[LivePost]]
    events: dict[UUID, Counter[str]]
    held: dict[tuple[str, str, str], UUID]
    letters: set[UUID]
    listed: set[UUID]
    restored_at: datetime | None = None  # when a backup was put back for the last time


async def judge(harness: PublishingHarness, by_hand: Sequence[LivePost] = ()) -> Verdict:
    """Judge the run; `by_hand` are live posts that Postino did not publish."""
    verdict = Verdict()
    evidence = await read_evidence(harness, by_hand)
    for posted in harness.posts:
        try:
            job = await harness.app.store.job(posted.id)
        except NotFound:
            verdict.lost.append(f"{describe(posted)} was accepted but does not exist")
            continue
        verdict.ends[posted.shape.grade, job.state] += 1
        verdict.lost += find_wrong_ends(posted, job, evidence)
        verdict.silent += find_missing_events(posted, job, evidence)
        verdict.wrong += find_contradictions(posted, job, evidence)
        if job.state is State.UNCERTAIN and posted.shape.grade is not PromiseClass.D:
            verdict.left_to_person[posted.id] = job
    every = [*harness.posts, *harness.forgotten.values()]
    verdict.duplicates += find_duplicates(every, evidence)
    verdict.wrong += find_unrequested(every, evidence)
    verdict.wrong += await list_unreachable(harness.app.store)
    return verdict


async def read_evidence(harness: PublishingHarness, by_hand: Sequence[LivePost]) -> Evidence:
    every = [*harness.posts, *harness.forgotten.values()]
    accounts = {(posted.shape.network, posted.account.handle) for posted in every}
    live: dict[Place, list[LivePost]] = defaultdict(list)
    for one in harness.oracle.list_live_posts():
        if (one.network, one.account) in accounts and one not in by_hand:
            live[one.network, one.account, one.text].append(one)
    events: dict[UUID, Counter[str]] = defaultdict(Counter)
    for job, kind in harness.sql.ask(EVENTS):
        events[to_uuid(job)][kind] += 1
    held = {(channel, account, remote): to_uuid(job) for channel, account, remote, job in harness.sql.ask(HOLDS)}
    letters = await harness.app.store.dead_letters(DeadLetterFilter(limit=EVERYTHING))
    listed = await harness.app.store.jobs(JobFilter(states=(State.UNCERTAIN,), limit=EVERYTHING))
    return Evidence(
        live, events, held, {letter.job.id for letter in letters}, {job.id for job in listed}, harness.restored_at
    )


def find_wrong_ends(posted: AcceptedPost, job: Job, evidence: Evidence) -> Iterator[str]:
    """Yield a violation if the post is neither live, nor a dead letter, nor listed for a person."""
    if posted.cancelled != (job.state is State.CANCELLED):
        yield f"{describe(posted)} is {job.state}, but was {'' if posted.cancelled else 'not '}cancelled"
    match job.state:
        case State.CANCELLED:
            pass
        case State.COMPLETED:
            for part, out in zip(posted.parts, list_live_parts(posted, evidence), strict=True):
                if not out:
                    yield f"{describe(posted)} is completed, and {part!r} is not live"
        case State.FAILED:
            if job.id not in evidence.letters:
                yield f"{describe(posted)} failed, and is not among the dead letters"
        case State.UNCERTAIN:
            if job.run_at is not None:
                yield f"{describe(posted)} is uncertain without a lookup"
            if job.id not in evidence.listed:
                yield f"{describe(posted)} is uncertain, and not listed"
        case _:
            yield f"{describe(posted)} is {job.state}, and never ended"


def find_missing_events(posted: AcceptedPost, job: Job, evidence: Evidence) -> Iterator[str]:
    times = evidence.events[job.id][END_EVENTS.get(job.state, "")]
    if times == 0 or (job.state is State.COMPLETED and times > 1):
        yield f"{describe(posted)} is {job.state}, and has {times} events of that"


def find_contradictions(posted: AcceptedPost, job: Job, evidence: Evidence) -> Iterator[str]:
    """Yield the differences between the store and the networks."""
    out = list_live_parts(posted, evidence)
    if posted.cancelled:  # perhaps after a restore, and it was live
        out = [[one for one in part if not is_forgotten(one, evidence)] for part in out]
    if posted.cancelled and any(out):
        yield f"{describe(posted)} was cancelled, but parts of it are live"
    if any(is_early(one, posted) for part in out for one in part if not is_forgotten(one, evidence)):
        yield f"{describe(posted)} was published before {posted.due_at}"
    if job.state not in (State.COMPLETED, State.UNCERTAIN) and is_live_unnoticed(job, out, evidence):
        yield f"{describe(posted)} is {job.state}, but parts of it are live"
    if job.state is not State.COMPLETED:
        return
    if job.remote_id not in {one.remote_id for one in out[0]}:
        yield f"{describe(posted)} is known as {job.remote_id}, and live as {[one.remote_id for one in out[0]]}"
    if not all(holds(job, one, evidence) for one in out[0] if one.remote_id == job.remote_id):
        yield f"{describe(posted)}: {job.remote_id} is not held by it"
    for before, after in pairwise(out):
        parents = {one.remote_id for one in before}
        if any(one.reply_to not in parents for one in after):
            yield f"{describe(posted)}: its parts are not replies to each other"


def is_early(one: LivePost, posted: AcceptedPost) -> bool:
    return posted.due_at is not None and datetime.fromisoformat(one.published_at) < posted.due_at


def is_forgotten(one: LivePost, evidence: Evidence) -> bool:
    """Return whether it may have been published before a backup was put back, at the time that it had then."""
    restored_at = evidence.restored_at
    return bool(restored_at and datetime.fromisoformat(one.published_at) < restored_at)


def is_live_unnoticed(job: Job, out: Sequence[list[LivePost]], evidence: Evidence) -> bool:
    """Return whether parts are live that the store does not know; a thread may stop in the middle."""
    return all(out) or not all(holds(job, one, evidence) for part in out for one in part)


def holds(job: Job, one: LivePost, evidence: Evidence) -> bool:
    return evidence.held.get((job.channel, job.account or "", one.remote_id)) == job.id


def list_live_parts(posted: AcceptedPost, evidence: Evidence) -> list[list[LivePost]]:
    """Return what is live of each part of a post, whichever of its versions."""
    return [
        [one for text in texts for one in evidence.live[place(posted, text)]]
        for texts in zip(*posted.versions, strict=True)
    ]


def find_duplicates(posts: Sequence[AcceptedPost], evidence: Evidence) -> Iterator[str]:
    """Yield the posts that are live more often than requested."""
    requested = Counter(place(posted, part) for posted in posts for part in posted.parts)
    for posted in posts:
        for part, out in zip(posted.parts, list_live_parts(posted, evidence), strict=True):
            if len(out) > requested[place(posted, part)]:
                yield f"{describe(posted)} is live {len(out)} times: {[one.remote_id for one in out]}"
        if evidence.events[posted.id][EventType.DUPLICATED]:
            yield f"{describe(posted)} has an event of a duplicate"


def find_unrequested(posts: Sequence[AcceptedPost], evidence: Evidence) -> Iterator[str]:
    requested = {place(posted, part) for posted in posts for parts in posted.versions for part in parts}
    for where, out in evidence.live.items():
        if out and where not in requested:
            yield f"{json.dumps(where)} is live but was not requested"


def place(posted: AcceptedPost, part: str) -> Place:
    return posted.shape.network, posted.account.handle, part


def describe(posted: AcceptedPost) -> str:
    return f"{posted.id} ({posted.shape}, {posted.about})"
