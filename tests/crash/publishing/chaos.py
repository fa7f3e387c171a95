"""Chaos while posts are published on networks with faults; then the result is checked."""

import asyncio
import time
from collections.abc import Callable, Iterator
from uuid import UUID

from postino import Job
from postino.rules.ledger import MAX_LOST_RESPONSES, list_open_intents
from postino.rules.settlement import MAX_RESCUES
from postino.values.ledger import Ledger
from tests.crash.chaos import REPORT_EVERY, SETTLE_WITHIN, WORKER_KILLER, Plan, run_in_background
from tests.crash.evidence import gather
from tests.crash.invariant_watch import InvariantWatch
from tests.crash.points import POINTS
from tests.crash.publishing.harness import PublishingHarness, open_harness
from tests.crash.publishing.load import Load
from tests.crash.publishing.oracle import Oracle
from tests.crash.publishing.passages import IN_HAND
from tests.crash.publishing.program import MOST_ATTEMPTS
from tests.crash.publishing.results import Results
from tests.crash.publishing.verdict import Verdict, judge
from tests.crash.worker_killer import WorkerKiller
from tests.crash.worker_lives import WorkerEnd, WorkerLife, draw_lives
from tests.crash.workers import Process

PLACES = 8
DEADLY = tuple(point for point in POINTS if point.startswith((*IN_HAND, "forget_step.", "rescue.", "mark_suspect.")))
RESCUES = "SELECT count(*) FROM postino.events WHERE type = 'job.rescued'"


class Chaos:
    def __init__(self, plan: Plan, harness: PublishingHarness) -> None:
        self.plan = plan
        self.harness = harness
        self.load = Load(harness, plan.seed)
        self.killer = WorkerKiller(harness.workers, self.start, plan.kills)
        self.watch = InvariantWatch(harness.sql, harness.app.store, self.killer.awake, lambda: len(harness.posts))
        self.killer.watch = self.watch
        self.started_at = time.monotonic()

    @property
    def kills(self) -> int:
        return self.killer.kills

    @property
    def summary(self) -> str:
        """Describe the progress so far."""
        wrong = len(self.killer.wrong) + len(self.watch.wrong)
        posts = f"{len(self.harness.posts):,} posts, {self.watch.live:,} of them live"
        return f"{posts}, {self.watch.checks:,} checks, {wrong} wrong"

    async def start(self, life: WorkerLife) -> Process:
        return await self.harness.start(crash=life.crash, drain=life.drain, concurrency=8)

    async def run(self) -> None:
        """Run the chaos, then a calm phase in which every post must end or wait for a person."""
        await self.load.prepare()
        async with run_in_background(self.watch.check_repeatedly(), self.load.replay_repeatedly()):
            posting = asyncio.create_task(self.load.post_repeatedly())
            await self.killer.fill([draw_lives(self.plan.seed, place, DEADLY) for place in range(PLACES)])
            self.load.closed = True
            await posting
            await asyncio.to_thread(self.harness.oracle.remove_faults)
            await self.killer.run_survivors(2, self.all_settled, SETTLE_WITHIN)

    async def all_settled(self) -> bool:
        [[quarantined]] = await asyncio.to_thread(self.harness.sql.ask, WORKER_KILLER)
        return not quarantined and not await asyncio.to_thread(self.harness.count_moving)

    async def make_results(self) -> Results:
        verdict = await judge(self.harness)
        excuses_by_post = {post: await self.excuse(job) for post, job in verdict.left_to_person.items()}
        verdict.wrong += [*self.killer.wrong, *self.watch.wrong, *find_unexcused(excuses_by_post, verdict)]
        return Results(
            kills=self.kills,
            endings={ending.value: self.killer.ended[ending] for ending in WorkerEnd},
            posts=len(self.harness.posts),
            ends={f"{grade} {state}": count for (grade, state), count in sorted(verdict.ends.items())},
            asked=sorted(filter(None, excuses_by_post.values())),
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
    """Return why a person must decide although the network has a lookup: nothing is retried for ever."""
    if job.rescues >= MAX_RESCUES:
        return "workers died under it three times"
    if len(list_open_intents(ledger)) >= MAX_LOST_RESPONSES:
        return "three responses were lost"
    if job.attempts >= MOST_ATTEMPTS:
        return "every attempt was used"
    return None


def find_unexcused(excuses: dict[UUID, str | None], verdict: Verdict) -> Iterator[str]:
    for post, excuse in excuses.items():
        if excuse is None:
            yield f"{post} waits for a person despite a lookup: {verdict.left_to_person[post].last_error}"


async def cause_chaos(
    plan: Plan, forker: str, oracle: Oracle, tell: Callable[[Chaos], None] = lambda _: None
) -> Results:
    """Do a whole run on an empty database; call `tell` every few seconds to report the progress."""
    async with open_harness(forker, plan.folder, plan.url, oracle) as harness:
        chaos = Chaos(plan, harness)
        async with run_in_background(report_progress(chaos, tell)):
            await chaos.run()
        return await chaos.make_results()


async def report_progress(chaos: Chaos, tell: Callable[[Chaos], None]) -> None:
    while True:
        await asyncio.sleep(REPORT_EVERY)
        tell(chaos)
