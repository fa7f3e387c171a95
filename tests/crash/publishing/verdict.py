"""Compare what is live on the networks with what the store says at the end of a run."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from uuid import UUID

from postino import Job, NotFound, State
from postino.stores.records import DeadLetterFilter, JobFilter
from postino.values.event import EventType
from postino.values.provider import PromiseClass
from tests.crash.publishing.harness import Posted, PublishingHarness
from tests.crash.publishing.oracle import Seen
from tests.crash.sql import identity

EVENTS = "SELECT job_id, type FROM postino.events WHERE job_id IS NOT NULL"
HOLDS = "SELECT channel, account, remote_id, job_id FROM postino.remote_ids"
EVERYTHING = 10_000
TOLD = {
    State.COMPLETED: EventType.COMPLETED,
    State.FAILED: EventType.FAILED,
    State.UNCERTAIN: EventType.UNCERTAIN,
}  # the event without which an ending would be silent
Place = tuple[str, str, str]  # network, account, text


@dataclass
class Verdict:
    """How the posts ended, and what ought not to have happened; each line names a post."""

    ends: Counter[tuple[PromiseClass, State]] = field(default_factory=Counter)
    duplicates: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    asked: dict[UUID, Job] = field(default_factory=dict)  # left to a person although the network could be asked

    @property
    def violations(self) -> list[str]:
        return [*self.duplicates, *self.lost, *self.silent, *self.wrong]


@dataclass(frozen=True)
class Evidence:
    """What there is to judge by, read once."""

    seen: dict[Place, list[Seen]]
    told: dict[UUID, Counter[str]]
    held: dict[tuple[str, str, str], UUID]
    letters: set[UUID]
    listed: set[UUID]


async def judge(harness: PublishingHarness, by_hand: Sequence[Seen] = ()) -> Verdict:
    """`by_hand` is what is out there and was none of Postino's doing."""
    verdict = Verdict()
    evidence = await gather(harness, by_hand)
    for posted in harness.posts:
        try:
            job = await harness.app.store.job(posted.id)
        except NotFound:
            verdict.lost.append(f"{told(posted)} was accepted, and is not there")
            continue
        verdict.ends[posted.shape.grade, job.state] += 1
        verdict.lost += badly_ended(posted, job, evidence)
        verdict.silent += untold(posted, job, evidence)
        verdict.wrong += contradictions(posted, job, evidence)
        if job.state is State.UNCERTAIN and posted.shape.grade is not PromiseClass.D:
            verdict.asked[posted.id] = job
    verdict.duplicates += too_many(harness.posts, evidence)
    verdict.wrong += unasked_for(harness.posts, evidence)
    return verdict


async def gather(harness: PublishingHarness, by_hand: Sequence[Seen]) -> Evidence:
    ours = {(posted.shape.network, posted.account.handle) for posted in harness.posts}
    seen: dict[Place, list[Seen]] = defaultdict(list)
    for one in harness.oracle.record():
        if (one.network, one.account) in ours and one not in by_hand:
            seen[one.network, one.account, one.text].append(one)
    events: dict[UUID, Counter[str]] = defaultdict(Counter)
    for job, kind in harness.sql.ask(EVENTS):
        events[identity(job)][kind] += 1
    held = {(channel, account, remote): identity(job) for channel, account, remote, job in harness.sql.ask(HOLDS)}
    letters = await harness.app.store.dead_letters(DeadLetterFilter(limit=EVERYTHING))
    listed = await harness.app.store.jobs(JobFilter(states=(State.UNCERTAIN,), limit=EVERYTHING))
    return Evidence(seen, events, held, {letter.job.id for letter in letters}, {job.id for job in listed})


def badly_ended(posted: Posted, job: Job, evidence: Evidence) -> Iterator[str]:
    """Neither out there, nor failed in everybody's sight, nor listed for a person."""
    match job.state:
        case State.COMPLETED:
            for part in posted.parts:
                if not evidence.seen[place(posted, part)]:
                    yield f"{told(posted)} is completed, and {part!r} is not out there"
        case State.FAILED:
            if job.id not in evidence.letters:
                yield f"{told(posted)} failed, and is not among the dead letters"
        case State.UNCERTAIN:
            if job.run_at is not None:
                yield f"{told(posted)} is uncertain, and nobody looked"
            if job.id not in evidence.listed:
                yield f"{told(posted)} is uncertain, and on no list"
        case _:
            yield f"{told(posted)} is {job.state}, and never ended"


def untold(posted: Posted, job: Job, evidence: Evidence) -> Iterator[str]:
    times = evidence.told[job.id][TOLD.get(job.state, "")]
    if times == 0 or (job.state is State.COMPLETED and times > 1):
        yield f"{told(posted)} is {job.state}, and that was told {times} times"


def contradictions(posted: Posted, job: Job, evidence: Evidence) -> Iterator[str]:
    """What the store says and what is out there do not fit together."""
    out = [evidence.seen[place(posted, part)] for part in posted.parts]
    if job.state not in (State.COMPLETED, State.UNCERTAIN) and is_out_unawares(job, out, evidence):
        yield f"{told(posted)} is {job.state}, and something of it is out there"
    if job.state is not State.COMPLETED:
        return
    if job.remote_id not in {one.remote_id for one in out[0]}:
        yield f"{told(posted)} is known as {job.remote_id}, and out there as {[one.remote_id for one in out[0]]}"
    if not all(holds(job, one, evidence) for one in out[0] if one.remote_id == job.remote_id):
        yield f"{told(posted)}: {job.remote_id} is not held by it"
    for before, after in pairwise(out):
        parents = {one.remote_id for one in before}
        if any(one.reply_to not in parents for one in after):
            yield f"{told(posted)}: its parts do not answer each other"


def is_out_unawares(job: Job, out: Sequence[list[Seen]], evidence: Evidence) -> bool:
    """A thread may have to stop in the middle, and then knows how far it came; anything else is out or not."""
    return all(out) or not all(holds(job, one, evidence) for part in out for one in part)


def holds(job: Job, one: Seen, evidence: Evidence) -> bool:
    return evidence.held.get((job.channel, job.account or "", one.remote_id)) == job.id


def too_many(posts: Sequence[Posted], evidence: Evidence) -> Iterator[str]:
    """Out there more often than it was asked for."""
    wanted = Counter(place(posted, part) for posted in posts for part in posted.parts)
    for posted in posts:
        for part in posted.parts:
            out = evidence.seen[place(posted, part)]
            if len(out) > wanted[place(posted, part)]:
                yield f"{told(posted)} is out there {len(out)} times: {[one.remote_id for one in out]}"
        if evidence.told[posted.id][EventType.DUPLICATED]:
            yield f"{told(posted)} was told to be out there twice"


def unasked_for(posts: Sequence[Posted], evidence: Evidence) -> Iterator[str]:
    wanted = {place(posted, part) for posted in posts for part in posted.parts}
    for where, out in evidence.seen.items():
        if out and where not in wanted:
            yield f"{json.dumps(where)} is out there, and nobody asked for it"


def place(posted: Posted, part: str) -> Place:
    return posted.shape.network, posted.account.handle, part


def told(posted: Posted) -> str:
    return f"{posted.id} ({posted.shape}, {posted.about})"
