"""Chaos while posts are published on networks with faults; then the result is checked."""

import asyncio
import time
from collections.abc import Callable, Iterator
from uuid import UUID

from postino import Job
from postino.rules.ledger import MAX_LOST_RESPONSES, list_open_intents
from postino.rules.settlement import MAX_RESCUES
from postino.values.ledger import Ledger
from tests.crash.chaos import RECKONING, TOLD_EVERY, WORKER_KILLER, Plan, side_by_side
from tests.crash.evidence import gather
from tests.crash.invariant_watch import InvariantWatch
from tests.crash.points import POINTS
from tests.crash.publishing.harness import PublishingHarness, office_on
from tests.crash.publishing.load import Load
from tests.crash.publishing.oracle import Oracle
from tests.crash.publishing.passages import IN_HAND
from tests.crash.publishing.program import MOST_ATTEMPTS
from tests.crash.publishing.results import Results
from tests.crash.publishing.verdict import Verdict, judge
from tests.crash.worker_killer import WorkerKiller
from tests.crash.worker_lives import WorkerEnd, WorkerLife, lives
from tests.crash.workers import Process

PLACES = 8
DEADLY = tuple(point for point in POINTS if point.startswith((*IN_HAND, "forget_step.", "rescue.", "mark_suspect.")))
RESCUES = "SELECT count(*) FROM postino.events WHERE type = 'job.rescued'"


class Chaos:
    def __init__(self, plan: Plan, harness: PublishingHarness) -> None:
        self.plan = plan
        self.harness = harness
        self.load = Load(harness, plan.seed)
        self.mortality = WorkerKiller(harness.workers, self.start, plan.kills)
        self.watch = InvariantWatch(harness.sql, harness.app.store, self.mortality.awake, lambda: len(harness.posts))
        self.mortality.watch = self.watch
        self.started_at = time.monotonic()

    @property
    def kills(self) -> int:
        return self.mortality.kills

    @property
    def told(self) -> str:
        """How far it has come."""
        wrong = len(self.mortality.wrong) + len(self.watch.wrong)
        posts = f"{len(self.harness.posts):,} posts, {self.watch.live:,} of them live"
        return f"{posts}, {self.watch.checks:,} checks, {wrong} wrong"

    async def start(self, fate: WorkerLife) -> Process:
        return await self.harness.start(crash=fate.crash, drain=fate.drain, concurrency=8)

    async def run(self) -> None:
        """Chaos first, then peace, in which every post must come to its end or wait for a person."""
        await self.load.prepare()
        async with side_by_side(self.watch.look_all_along(), self.load.replay_all_along()):
            posting = asyncio.create_task(self.load.post_all_along())
            await self.mortality.fill([lives(self.plan.seed, place, DEADLY) for place in range(PLACES)])
            self.load.closed = True
            await posting
            await asyncio.to_thread(self.harness.oracle.behave)
            await self.mortality.outlive(2, self.all_settled, RECKONING)

    async def all_settled(self) -> bool:
        [[quarantined]] = await asyncio.to_thread(self.harness.sql.ask, WORKER_KILLER)
        return not quarantined and not await asyncio.to_thread(self.harness.moving)

    async def figures(self) -> Results:
        verdict = await judge(self.harness)
        excused = {post: await self.excuse(job) for post, job in verdict.asked.items()}
        verdict.wrong += [*self.mortality.wrong, *self.watch.wrong, *unexcused(excused, verdict)]
        return Results(
            kills=self.kills,
            endings={ending.value: self.mortality.ended[ending] for ending in WorkerEnd},
            posts=len(self.harness.posts),
            ends={f"{grade} {state}": count for (grade, state), count in sorted(verdict.ends.items())},
            asked=sorted(filter(None, excused.values())),
            replayed=self.load.replayed,
            unanswered=self.load.unanswered,
            rescues=self.harness.sql.ask(RESCUES)[0][0],
            checks=self.watch.checks,
            longest_takeover=round(self.watch.longest, 1),
            duplicates=verdict.duplicates,
            lost=verdict.lost,
            silent=verdict.silent,
            wrong=verdict.wrong,
            evidence=gather(self.harness.sql, self.plan.folder, verdict.violations),
            seconds=round(time.monotonic() - self.started_at, 1),
        )

    async def excuse(self, job: Job) -> str | None:
        return excuse(job, await self.harness.app.store.ledger(job.id))


def excuse(job: Job, ledger: Ledger) -> str | None:
    """Why a person may be asked although the network can be: nothing is tried for ever."""
    if job.rescues >= MAX_RESCUES:
        return "workers died under it three times"
    if len(list_open_intents(ledger)) >= MAX_LOST_RESPONSES:
        return "three answers were lost"
    if job.attempts >= MOST_ATTEMPTS:
        return "every attempt was used"
    return None


def unexcused(excuses: dict[UUID, str | None], verdict: Verdict) -> Iterator[str]:
    for post, excuse in excuses.items():
        if excuse is None:
            yield f"{post} was left to a person, and the network could be asked: {verdict.asked[post].last_error}"


async def cause_chaos(
    plan: Plan, forker: str, oracle: Oracle, tell: Callable[[Chaos], None] = lambda _: None
) -> Results:
    """A whole run on an empty database; `tell` hears every few seconds how far it has come."""
    async with office_on(forker, plan.folder, plan.url, oracle) as harness:
        chaos = Chaos(plan, harness)
        async with side_by_side(telling(chaos, tell)):
            await chaos.run()
        return await chaos.figures()


async def telling(chaos: Chaos, tell: Callable[[Chaos], None]) -> None:
    while True:
        await asyncio.sleep(TOLD_EVERY)
        tell(chaos)
