"""Chaos while posts are published on networks with faults; then the result is checked."""

import asyncio
import random
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any
from uuid import UUID

from postino import Job
from postino.rules.ledger import MAX_LOST_RESPONSES, list_open_intents
from postino.rules.settlement import MAX_WORKER_DEATHS
from postino.values.ledger import Ledger
from tests.crash.chaos import REPORT_EVERY, SETTLE_WITHIN, WORKER_KILLER, Plan, run_in_background
from tests.crash.evidence import gather
from tests.crash.invariant_watch import InvariantWatch
from tests.crash.points import POINTS
from tests.crash.publishing.acts import Acts
from tests.crash.publishing.backups import can_back_up
from tests.crash.publishing.harness import PublishingHarness, open_harness
from tests.crash.publishing.load import Load
from tests.crash.publishing.oracle import Oracle
from tests.crash.publishing.passages import IN_HAND
from tests.crash.publishing.program import MOST_ATTEMPTS
from tests.crash.publishing.restores import Restores
from tests.crash.publishing.results import Results
from tests.crash.publishing.verdict import Verdict, judge
from tests.crash.worker_killer import WorkerKiller
from tests.crash.worker_lives import WorkerEnd, WorkerLife, draw_lives
from tests.crash.workers import Process

PLACES = 8
MACHINES = ("one", "two")
DEADLY = tuple(point for point in POINTS if point.startswith((*IN_HAND, "forget_step.", "rescue.", "mark_suspect.")))
RESCUES = "SELECT count(*) FROM postino.events WHERE type = 'job.rescued'"


class Chaos:
    def __init__(self, plan: Plan, harness: PublishingHarness) -> None:
        self.plan = plan
        self.harness = harness
        self.load = Load(harness, plan.seed)
        self.acts = Acts(harness, plan.seed)
        self.killer = WorkerKiller(harness.workers, self.start, plan.kills)
        self.restores = Restores(harness, plan.folder, plan.seed)
        self.machines = random.Random(f"{plan.seed} machines")
        self.watch = InvariantWatch(
            harness.sql, harness.app.store, self.killer.awake, lambda: len(harness.posts), harness.turns.share
        )
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
        machine = self.plan.folder / "machines" / self.machines.choice(MACHINES)
        async with self.harness.turns.share():
            return await self.harness.start(crash=life.crash, drain=life.drain, concurrency=8, state_dir=str(machine))

    async def run(self) -> None:
        """Run the chaos, then a calm phase in which every post must end or wait for a person."""
        await self.load.prepare()
        async with run_in_background(
            self.watch.check_repeatedly(), self.load.replay_repeatedly(), self.restores.answer_repeatedly()
        ):
            async with asyncio.TaskGroup() as people:
                for work in (
                    self.load.post_repeatedly(),
                    self.acts.use_repeatedly(),
                    self.acts.operate_repeatedly(),
                    *self.list_restores(),
                ):
                    people.create_task(work)
                await self.killer.fill([draw_lives(self.plan.seed, place, DEADLY) for place in range(PLACES)])
                self.load.closed = self.acts.closed = self.restores.closed = True
            await self.acts.open_gates()
            await asyncio.to_thread(self.harness.oracle.remove_faults)
            await self.killer.run_survivors(2, self.all_settled, SETTLE_WITHIN)

    def list_restores(self) -> list[Coroutine[Any, Any, None]]:
        has_programs = can_back_up(self.plan.url)
        return [self.restores.restore_repeatedly(self.acts.open_gates)] if has_programs else []

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
            acts=dict(sorted((self.acts.counts + self.restores.counts).items())),
            forgotten=len(self.harness.forgotten),
            unanswered=self.load.unanswered + self.acts.unanswered,
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
        if job.id in self.harness.restored:
            return "the database was restored"
        return excuse(job, await self.harness.app.store.ledger(job.id))


def excuse(job: Job, ledger: Ledger) -> str | None:
    """Return why a person must decide although the network has a lookup: nothing is retried for ever."""
    if job.rescues >= MAX_WORKER_DEATHS:
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
