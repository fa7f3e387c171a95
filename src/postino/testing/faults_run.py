"""One run with faults: worker processes, a database that breaks, and the user's network or handlers, from one seed."""

from __future__ import annotations

import asyncio
import gc
import random
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import Context
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

import structlog

from postino import clock
from postino.errors import Conflict, StoreUnreachable
from postino.publishing.post_request import PostRequest
from postino.stores.memory import MemoryDriver
from postino.stores.records import JobFilter
from postino.stores.store import Store
from postino.testing.faults_app import FaultyApp, Subject
from postino.testing.faults_connection import MortalConnection
from postino.testing.faults_script import FaultScript
from postino.testing.faults_server import FaultyServer
from postino.testing.simulation.hits import NumberedRates
from postino.testing.simulation.loop import START, NothingLeft, make_loop, process_name
from postino.testing.simulation.narration import MARK, NarratedConnection, NarratedHttpFactory
from postino.testing.simulation.process import SimulatedWakeups
from postino.testing.simulation.script import Act, perform_acts
from postino.testing.simulation.shrinking import FoundFailure
from postino.testing.simulation.source import BEGIN, SimulatedSource
from postino.values.job import Job, State
from postino.values.outcome import Done, Retry

UNFINISHED = (State.PENDING, State.RUNNING, State.UNCERTAIN)


class FaultRun:
    def __init__(self, subject: Subject, script: FaultScript, database: bytes, state_dir: Path) -> None:
        self.subject = subject
        self.script = script
        self.seed = f"{script.seed} order {script.order}" if script.order else script.seed
        self.state_dir = state_dir
        self.loop = make_loop(self.seed)
        self.source = SimulatedSource(self.seed, self.loop)
        self.story: list[tuple[datetime, str]] = []
        self.violations: list[str] = []
        self.rates = NumberedRates(script.rates, script.hits)
        self.is_away = False  # the database
        self.database = MemoryDriver(self.source.true_time)
        self.database.connection.deserialize("main", database)
        self.store = Store(self.database)  # for those who look without failing
        subject.reset()
        self.server = FaultyServer(
            subject.make_server(), self.draw("network"), self.rates, self.note_published, self.tell
        )
        self.wakeups = SimulatedWakeups(self.loop, self.draw("wakeups"), self.draw("lost").choice((0.0, 0.5)))
        self.apps: dict[str, FaultyApp] = {}
        self.workers: list[str] = []
        self.started = 0  # workers
        self.accepted: dict[UUID, str] = {}  # jobs, with the names that the story gives them
        self.live: Counter[str] = Counter()  # posts that people see, by the mark in their text
        self.handler_runs: Counter[UUID] = Counter()
        self.questions = 0

    def draw(self, what: str) -> random.Random:
        return random.Random(f"{self.seed} {what}")

    # The story

    def tell(self, sentence: str) -> None:
        self.story.append((self.source.true_time(), sentence))

    def fail(self, sentence: str) -> None:
        self.violations.append(sentence)
        self.tell(f"BROKEN: {sentence}")

    def note_published(self, text: str) -> None:
        """Judge a post at the moment when people can see it."""
        name = read_mark(text) if self.subject.make_network else text[:60]
        self.tell(f"the network shows “{text[:60]}”")
        self.live[name] += 1
        if not name:
            self.fail(f"unknown: the network shows “{text[:60]}”, which is the text of no post")
        elif self.live[name] > 1:
            self.fail(f"twice: {name} is on the network {self.live[name]} times")

    def find_failure(self) -> FoundFailure | None:
        if not self.violations:
            return None
        at = next(at for at, sentence in self.story if sentence.startswith("BROKEN"))
        return FoundFailure(
            self.violations[0].partition(":")[0], (at - BEGIN).total_seconds() - START, self.rates.list_hits()
        )

    # Processes

    def make_app(self, name: str) -> FaultyApp:
        chance = self.draw(f"process {name}")
        app = FaultyApp(
            self.subject,
            lambda: self.connect(chance),
            self.wakeups,
            NarratedHttpFactory(self.server, chance, self.rates, self.tell),
            chance,
            lambda _: self.loop.kill(name),
            self.state_dir,
        )
        app.on_run = self.note_run
        self.apps[name] = app
        return app

    def connect(self, chance: random.Random) -> NarratedConnection:
        arguments = (self.database, chance, self.rates, lambda: self.is_away, self.tell)
        return MortalConnection(*arguments, die=self.replace_worker)

    def replace_worker(self, name: str) -> None:
        """End a worker, and start another one a moment later, as a supervisor does. People's server never dies."""
        if name not in self.workers:
            return
        self.workers.remove(name)
        self.end_process(name)
        self.loop.call_later(1.0, lambda: self.workers.append(self.start_worker()), context=Context())

    def note_run(self, job: Job) -> None:
        self.handler_runs[job.id] += 1
        again = " again" if self.handler_runs[job.id] > 1 else ""
        self.tell(f"{process_name.get()} runs {self.accepted.get(job.id, job.type)}{again}")

    def start_worker(self) -> str:
        self.started += 1
        name = f"worker {self.started}"
        self.tell(f"{name} starts")
        _ = self.loop.spawn(name, self.run_worker(name, self.make_app(name)))
        return name

    async def run_worker(self, name: str, app: FaultyApp) -> None:
        """Run a worker, and start it again if it finds no database, as a supervisor does."""
        is_over = False
        while not is_over and not self.loop.is_closed():
            is_over = True
            try:
                await app.work()
            except StoreUnreachable:
                await asyncio.sleep(1.0)
                is_over = False
            except Exception as error:  # noqa: BLE001 - reported as a violation
                if not self.loop.is_closed():
                    self.fail(f"crash: {name} ended with {error!r}")

    # Time

    async def run(self) -> None:
        self.person = self.make_app("server")
        self.workers = [self.start_worker() for _ in range(self.script.workers)]
        end = self.loop.seconds + self.script.seconds

        def is_over() -> bool:
            return bool(self.violations) or self.loop.seconds >= end

        await asyncio.gather(
            perform_acts(self.script.acts, self.do_act, is_over),
            perform_acts(self.script.events, self.do_event, is_over),
        )
        await asyncio.sleep(max(0.0, end - self.loop.seconds))
        await self.make_peace()
        if not self.violations:
            await self.judge()

    async def do_act(self, act: Act) -> None:
        chance = random.Random(f"{self.script.seed} act {act.number}")
        at = self.source.true_time() + timedelta(seconds=chance.choice((1, 3, 8))) if act.name == "schedule" else None
        name = f"post {act.number}" if self.subject.make_network else f"job {act.number}"
        when = f"at {at:%H:%M:%S}" if at else "now"
        account = chance.choice(self.subject.accounts or ("",))
        for job in await self.persist(act.number, account, at):
            self.accepted[job.id] = name if self.subject.make_network else f"{name} ({job.type})"
        self.tell(f"{name} is accepted, to run {when}")

    async def persist(self, number: int, account: str, at: datetime | None) -> list[Job]:
        """Send a request until it is answered, as a client does with an idempotency key."""
        while True:
            try:
                return await self.accept(number, account, at)
            except StoreUnreachable:
                await asyncio.sleep(0.3)

    async def accept(self, number: int, account: str, at: datetime | None) -> list[Job]:
        if self.subject.make_network is None:
            spec = self.subject.make_job(number, at)
            return [await self.person.enqueue_spec(spec)]
        request = PostRequest(content=self.subject.content(number), accounts=(account,), at=at, key=f"key {number}")
        return [saved.post.job for saved in await self.person.posts.schedule(request)]

    async def do_event(self, event: Act) -> None:
        chance = random.Random(f"{self.script.seed} event {event.number}")
        if not self.workers:
            return
        match event.name:
            case "kill":
                await self.kill(chance)
            case "freeze":
                name, seconds = chance.choice(self.workers), chance.choice((0.5, 2.0, 6.0, 15.0))
                self.tell(f"{name} is frozen for {seconds:g} s")
                self.loop.freeze(name, seconds)
            case "restart":
                await self.restart()
            case "outage":
                seconds = chance.choice((1.0, 5.0, 12.0))
                self.tell(f"the database cannot be reached for {seconds:g} s")
                self.is_away = True
                await asyncio.sleep(seconds)
                self.is_away = False

    async def kill(self, chance: random.Random) -> None:
        name = chance.choice(self.workers)
        self.workers.remove(name)
        self.tell(f"{name} is killed")
        self.end_process(name)
        await asyncio.sleep(chance.choice((0.0, 2.0, 10.0)))
        self.workers.append(self.start_worker())

    def end_process(self, name: str) -> None:
        self.loop.kill(name)
        self.apps.pop(name).release_files()

    async def restart(self) -> None:
        """Stop all workers properly and start others."""
        self.tell("all workers are stopped and started again")
        for name in self.workers:
            if (worker := self.apps[name].worker) is not None:
                worker.stop()
        await asyncio.sleep(6.0)
        for name in self.workers:
            self.end_process(name)  # what has not ended by then
        self.workers = [self.start_worker() for _ in self.workers]

    # The end

    async def make_peace(self) -> None:
        """End all faults, and let a person answer until nothing is left to do."""
        self.tell("all faults end")
        self.rates.clear()
        self.is_away = False
        self.loop.frozen = {name: (self.loop.seconds, handles) for name, (_, handles) in self.loop.frozen.items()}
        for _ in range(60):
            unfinished = await self.store.jobs(JobFilter(states=UNFINISHED, limit=1000))
            questions = [it for it in unfinished if it.state is State.UNCERTAIN and it.run_at is None]
            if self.violations or not unfinished or (len(questions) == len(unfinished) and not self.can_answer()):
                return
            for job in unfinished:
                await self.help_on(job)
            await asyncio.sleep(10)

    def can_answer(self) -> bool:
        return self.subject.make_network is not None

    async def help_on(self, job: Job) -> None:
        """Answer what only a person can answer, and let nothing wait longer than it must."""
        with suppress(Conflict):
            if job.state is State.PENDING and job.run_at is not None and job.run_at > self.source.true_time():
                await self.person.reschedule(job.id, None, actor="person")
            if job.state is State.UNCERTAIN and job.run_at is None and self.can_answer() and not self.is_under_way():
                is_live = self.live[self.accepted[job.id]] > 0
                self.questions += 1
                self.tell(f"a person says that {self.accepted[job.id]} is {'' if is_live else 'not '}on the network")
                verdict = Done() if is_live else Retry("send it again")
                await self.person.resolve(job.id, verdict, reason="looked", actor="person")

    def is_under_way(self) -> bool:
        return any(it.visible for it in self.server.under_way)

    async def judge(self) -> None:
        """Compare what has become of the accepted jobs with what was promised."""
        jobs = {job.id: job for job in await self.store.jobs(JobFilter(limit=1000))}
        for job_id, name in self.accepted.items():
            if job_id not in jobs:
                self.fail(f"lost: {name} was accepted, and does not exist")
            elif self.subject.make_network is not None:
                self.judge_post(jobs[job_id], name)
            elif not jobs[job_id].state.is_final and jobs[job_id].state is not State.UNCERTAIN:
                self.fail(f"waiting for ever: {name} is {jobs[job_id].state}: {jobs[job_id].last_error}")
        for sentence in self.subject.check([jobs[it] for it in self.accepted if it in jobs]):
            self.fail(sentence)

    def judge_post(self, job: Job, name: str) -> None:
        is_live = self.live[name] > 0
        if not job.state.is_final:
            self.fail(f"waiting for ever: {name} is {job.state}: {job.last_error}")
        elif job.state is State.COMPLETED and not is_live:
            self.fail(f"lost: {name} is recorded as published, and is not on the network")
        elif job.state is State.FAILED and is_live:
            self.fail(f"wrong record: {name} is a dead letter, and is on the network: {job.last_error}")


def read_mark(text: str) -> str:
    """Return which post a text belongs to; empty: to none."""
    match = MARK.search(text)
    return match[0].lower() if match else ""


def run_script(subject: Subject, script: FaultScript, database: bytes) -> FaultRun:
    """Run a script to its end, and return the run with its story and violations."""
    with open_run(subject, script, database) as run:
        try:
            run.loop.run_until_complete(run.run())
        except NothingLeft as error:
            run.fail(f"standstill: {error}")
        for context in run.loop.errors:
            run.fail(f"error: {context.get('message')} {context.get('exception')!r}")
    return run


@contextmanager
def open_run(subject: Subject, script: FaultScript, database: bytes) -> Iterator[FaultRun]:
    """Yield a run, and clear up after it."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # where a sync costs nothing
    folder = Path(tempfile.mkdtemp(prefix="postino-faults-", dir=memory))
    run = FaultRun(subject, script, database, folder)
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        with clock.use_source(run.source):
            yield run
    finally:
        run.loop.close()
        for app in run.apps.values():
            app.release_files()
        run.apps.clear()
        shutil.rmtree(folder, ignore_errors=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what was killed never ended
            run.loop.forget()
            gc.collect()
        sys.unraisablehook = hook


@contextmanager
def prepare_process() -> Iterator[None]:
    """Log nothing, because workers would say a lot, and let the garbage collector look at new objects only."""
    before = structlog.get_config()
    gc.freeze()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(50), logger_factory=structlog.ReturnLoggerFactory()
    )
    try:
        yield
    finally:
        gc.unfreeze()
        structlog.configure(**before)
