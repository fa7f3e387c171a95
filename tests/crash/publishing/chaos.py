"""Chaos while posts go out: workers killed and frozen at random on networks that misbehave. Then the reckoning."""

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
from tests.crash.fates import Ending, Fate, lives
from tests.crash.mortality import Mortality
from tests.crash.points import POINTS
from tests.crash.publishing.figures import Figures
from tests.crash.publishing.load import Load
from tests.crash.publishing.office import Office, office_on
from tests.crash.publishing.oracle import Oracle
from tests.crash.publishing.program import MOST_ATTEMPTS
from tests.crash.publishing.stations import IN_HAND
from tests.crash.publishing.verdict import Verdict, judge
from tests.crash.watch import Watch
from tests.crash.workers import Process

PLACES = 8
DEADLY = tuple(point for point in POINTS if point.startswith((*IN_HAND, "forget_step.", "rescue.", "mark_suspect.")))
RESCUES = "SELECT count(*) FROM postino.events WHERE type = 'job.rescued'"


class Chaos:
    def __init__(self, plan: Plan, office: Office) -> None:
        self.plan = plan
        self.office = office
        self.load = Load(office, plan.seed)
        self.mortality = Mortality(office.workers, self.start, plan.kills)
        self.watch = Watch(office.books, office.app.store, self.mortality.awake, lambda: len(office.posts))
        self.mortality.watch = self.watch
        self.started_at = time.monotonic()

    @property
    def kills(self) -> int:
        return self.mortality.kills

    @property
    def told(self) -> str:
        """How far it has come."""
        wrong = len(self.mortality.wrong) + len(self.watch.wrong)
        posts = f"{len(self.office.posts):,} posts, {self.watch.live:,} of them live"
        return f"{posts}, {self.watch.checks:,} checks, {wrong} wrong"

    async def start(self, fate: Fate) -> Process:
        return await self.office.start(crash=fate.crash, drain=fate.drain, concurrency=8)

    async def run(self) -> None:
        """Chaos first, then peace, in which every post must come to its end or wait for a person."""
        await self.load.prepare()
        async with side_by_side(self.watch.look_all_along(), self.load.replay_all_along()):
            posting = asyncio.create_task(self.load.post_all_along())
            await self.mortality.fill([lives(self.plan.seed, place, DEADLY) for place in range(PLACES)])
            self.load.closed = True
            await posting
            await asyncio.to_thread(self.office.oracle.behave)
            await self.mortality.outlive(2, self.all_settled, RECKONING)

    async def all_settled(self) -> bool:
        [[quarantined]] = await asyncio.to_thread(self.office.books.ask, WORKER_KILLER)
        return not quarantined and not await asyncio.to_thread(self.office.moving)

    async def figures(self) -> Figures:
        verdict = await judge(self.office)
        excused = {post: await self.excuse(job) for post, job in verdict.asked.items()}
        verdict.wrong += [*self.mortality.wrong, *self.watch.wrong, *unexcused(excused, verdict)]
        return Figures(
            kills=self.kills,
            endings={ending.value: self.mortality.ended[ending] for ending in Ending},
            posts=len(self.office.posts),
            ends={f"{grade} {state}": count for (grade, state), count in sorted(verdict.ends.items())},
            asked=sorted(filter(None, excused.values())),
            replayed=self.load.replayed,
            unanswered=self.load.unanswered,
            rescues=self.office.books.ask(RESCUES)[0][0],
            checks=self.watch.checks,
            longest_takeover=round(self.watch.longest, 1),
            duplicates=verdict.duplicates,
            lost=verdict.lost,
            silent=verdict.silent,
            wrong=verdict.wrong,
            evidence=gather(self.office.books, self.plan.folder, verdict.violations),
            seconds=round(time.monotonic() - self.started_at, 1),
        )

    async def excuse(self, job: Job) -> str | None:
        return excuse(job, await self.office.app.store.ledger(job.id))


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
) -> Figures:
    """A whole run on an empty database; `tell` hears every few seconds how far it has come."""
    async with office_on(forker, plan.folder, plan.url, oracle) as office:
        chaos = Chaos(plan, office)
        async with side_by_side(telling(chaos, tell)):
            await chaos.run()
        return await chaos.figures()


async def telling(chaos: Chaos, tell: Callable[[Chaos], None]) -> None:
    while True:
        await asyncio.sleep(TOLD_EVERY)
        tell(chaos)
