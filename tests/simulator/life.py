"""One life: workers, people and a platform that fails, on one database and one set of networks, from one seed."""

from __future__ import annotations

import asyncio
import gc
import random
import shutil
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from postino import clock
from postino.config import Config
from postino.engine.explain import explain
from postino.errors import StoreUnreachable
from postino.rules.explain import Explanation
from postino.sandbox.settings import change_settings
from postino.stores.crash_points import watch_crash_points
from postino.testing.simulation.hits import NumberedRates
from postino.testing.simulation.loop import NothingLeft, make_loop, process_name
from postino.testing.simulation.narration import NarratedConnection, NarratedHttpFactory
from postino.testing.simulation.process import SimulatedPostino, SimulatedWakeups
from postino.testing.simulation.sandbox_networks import URL, PublishedPost, SimulatedSandbox
from postino.testing.simulation.script import Act, perform_acts
from postino.testing.simulation.source import SimulatedSource
from postino.values.event import Event
from postino.values.job import Job
from tests.simulator import site
from tests.simulator.invariants import (
    SETTINGS,
    WatchedDatabase,
    check_after_act,
    check_pauses,
    check_secrets,
    check_sent,
)
from tests.simulator.oracle import Oracle
from tests.simulator.people import Person
from tests.simulator.platform import Platform
from tests.simulator.script import Script, draw_script
from tests.simulator.swarm import MOMENTS, SUDDEN_ACTS, Swarm
from tests.simulator.verdict import judge

SERVER = "server"
CALLS = (
    "send.",
    "record_intents",
    "record_receipt",
    "lookup.",
    "set_account_state",
)  # crash points around visible calls
LIVES_PER_COLLECTION = 16
lives_ended = 0


class Life:
    def __init__(self, script: Script, *, state_dir: Path) -> None:
        self.script = script
        self.seed = f"{script.seed} order {script.order}" if script.order else script.seed
        self.swarm = script.swarm
        self.state_dir = state_dir
        self.chance = self.draw("life")
        self.loop = make_loop(self.seed)
        self.source = SimulatedSource(self.seed, self.loop)
        self.story: list[tuple[datetime, str]] = []
        self.failures: list[str] = []
        self.numbers = 0
        self.rates = NumberedRates(self.swarm.rates, script.hits)
        self.is_away = False  # the database
        self.is_full = False  # the disk
        self.reconnected: set[str] = set()  # accounts whose credentials work since then
        self.left_at: dict[int, datetime] = {}  # when requests have left their worker
        self.expired: set[str] = set()  # accounts whose credentials do not work any more
        self.connected_to: dict[str, str] = {}  # accounts that a person has connected to another place
        self.restores = 0
        self.heard: list[int] = []  # events, by their numbers
        self.oracle = Oracle()
        self.operations: Counter[str] = Counter()
        self.database = WatchedDatabase(self)
        self.database.connection.deserialize("main", site.make_template())
        self.sandbox = SimulatedSandbox(
            self.draw("networks"), self.rates, self.note_published, lambda request: check_sent(self, request)
        )
        self.accounts = site.open_accounts(self.sandbox.connection)
        change_settings(self.sandbox.connection, {"mastodon_lookalike": int(self.swarm.is_lookalike)})
        self.settings = self.database.ask(SETTINGS)
        self.chance_to_look, self.chance_to_stop = self.draw("look"), self.draw("stop")
        self.points: Counter[str] = Counter()
        self.media_url = f"{URL}/_sandbox/media/sample.png"
        self.wakeups = SimulatedWakeups(self.loop, self.draw("wakeups"), self.chance.choice((0.0, 0.5, 1.0)))
        self.apps: dict[str, SimulatedPostino] = {}

    def draw(self, what: str) -> random.Random:
        return random.Random(f"{self.seed} {what}")

    def draw_act(self, kind: str, act: Act) -> random.Random:
        """Return the randomness of one act, which depends on nothing else."""
        return random.Random(f"{self.script.seed} {kind} {act.number}")

    # The story

    def now(self) -> datetime:
        return self.source.true_time()

    def next_number(self) -> int:
        self.numbers += 1
        return self.numbers

    def tell(self, sentence: str) -> None:
        self.story.append((self.now(), sentence))

    def fail(self, sentence: str) -> None:
        """Note that something has happened that must never happen."""
        self.failures.append(sentence)
        self.tell(f"BROKEN: {sentence}")

    def note_published(self, post: PublishedPost) -> None:
        self.tell(f"{post.network} shows “{post.text}” of {post.account} as {post.remote_id}")
        post = replace(post, published_at=max(self.database.latest, self.now()))  # by Postino's clock
        before = len(self.oracle.wrong)
        self.oracle.note_published(post)
        for sentence in self.oracle.wrong[before:]:
            self.fail(sentence)
        check_pauses(self, post)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    # Processes

    def make_app(
        self,
        name: str,
        config: Config = site.CONFIG,
        database: WatchedDatabase | None = None,
        state_dir: Path | None = None,
    ) -> SimulatedPostino:
        chance, database = self.draw(f"process {name}"), database or self.database
        app = SimulatedPostino(
            config,
            lambda: NarratedConnection(
                database, chance, self.rates, lambda: self.is_away, self.tell, lambda: self.is_full
            ),
            self.wakeups,
            NarratedHttpFactory(self.sandbox, chance, self.rates, self.tell),
            chance,
            lambda _: self.loop.kill(name),
            state_dir or self.state_dir,
            site.QUOTAS if self.swarm.has_quotas else {},
            lambda: self.is_full,
        )
        self.apps[name] = app
        return app

    def start_worker(self, config: Config = site.CONFIG) -> str:
        """Start a worker process and return its name."""
        name = f"worker {self.next_number()}"
        self.tell(f"{name} starts" + (" with other settings" if config is not site.CONFIG else ""))
        app, chance = self.make_app(name, config), self.draw(f"listener of {name}")

        async def hear(event: Event) -> None:
            await asyncio.sleep(chance.choice((0.0, 0.0, 0.01)))
            self.heard.append(event.cursor.seq)

        app.on(name="log")(hear)
        _ = self.loop.spawn(name, self.run_worker(name, app))
        return name

    async def run_worker(self, name: str, app: SimulatedPostino) -> None:
        """Run a worker, and start it again if it finds no database, as a supervisor does."""
        is_over = False
        while not is_over and not self.loop.is_closed():
            is_over = True
            try:
                await app.work()
            except StoreUnreachable:
                self.tell(f"{name} ends, because it cannot reach the database, and is started again")
                await asyncio.sleep(1.0)
                is_over = False
            except Exception as error:  # noqa: BLE001 - reported as a failure of the life
                if not self.loop.is_closed():
                    self.fail(f"crash: {name} ended with {error!r}")

    def kill(self, name: str) -> None:
        self.loop.kill(name)
        self.apps.pop(name).release_files()

    def pass_point(self, point: str) -> None:
        """Let a person act, or kill or freeze a worker, at the moments before and after its writes and calls."""
        self.points[point] += 1
        name = process_name.get()
        rate = self.rates.get("stop_at_call" if point.startswith(CALLS) else "stop_at_write", 0.0)
        if name not in self.platform.workers:
            return
        if point in MOMENTS and self.chance_to_stop.random() < self.rates.get("act_at_moment", 0.0):
            _ = self.loop.spawn("person", self.person.act(self.chance_to_stop.choice(SUDDEN_ACTS)))
        if self.chance_to_stop.random() < rate:
            self.platform.stop_at(name, point)

    def is_request_under_way(self) -> bool:
        """Return whether a request may still arrive, so that nobody can say what becomes of its post."""
        return any(it.visible for it in self.sandbox.under_way)

    async def explain(self, job: Job) -> Explanation:
        return await explain(self.server.store, job.id)

    # Time

    async def live(self) -> None:
        self.server = self.make_app(SERVER)
        self.person, self.platform = Person(self), Platform(self)
        for _ in range(self.swarm.workers):
            self.platform.workers.append(self.start_worker())
        end = self.loop.seconds + self.swarm.seconds
        if any(it.name == "fail_over" for it in self.script.events):
            _ = self.loop.spawn("standby", self.platform.follow(end))

        def is_over() -> bool:
            return bool(self.failures) or self.loop.seconds >= end

        await asyncio.gather(
            perform_acts(self.script.acts, self.do_act, is_over),
            perform_acts(self.script.events, self.platform.do_event, is_over),
        )
        await self.sleep(max(0.0, end - self.loop.seconds))
        await self.check_reachable()
        await self.make_peace()
        await judge(self)
        check_secrets(self)

    async def do_act(self, act: Act) -> None:
        self.person.chance, self.person.number = self.draw_act("act", act), act.number
        await self.person.act(act.name)
        await self.check_reachable()
        check_after_act(self)

    async def check_reachable(self) -> None:
        for job in await self.platform.read("unreachable_jobs"):
            promise = self.oracle.promises.get(job.id)
            self.fail(f"unreachable: no claim will ever find post {promise.number if promise else job.id}")

    async def make_peace(self) -> None:
        """Heal everything, open all gates, and let people answer until nothing is left to do."""
        self.tell("everything works again, and all gates are opened")
        self.rates.clear()
        await self.platform.heal()
        for _ in range(120):
            await self.person.open_everything()
            for _ in range(5):
                await asyncio.sleep(1)
                if self.failures or not (self.loop.frozen or await self.person.list_unfinished()):
                    return


@contextmanager
def open_life(script: Script) -> Iterator[Life]:
    """Yield a life, and clear up after it."""
    folder = Path(tempfile.mkdtemp(prefix="postino-life-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    life = Life(script, state_dir=folder)
    before, sys.unraisablehook = sys.unraisablehook, lambda _: None
    gc.disable()  # what it frees in the middle of a life would run its `finally` blocks there
    try:
        with clock.use_source(life.source), watch_crash_points(life.pass_point):
            yield life
    finally:
        life.loop.close()
        for app in life.apps.values():
            app.release_files()
        life.apps.clear()
        shutil.rmtree(folder, ignore_errors=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what was killed never ended
            life.loop.forget()
            collect_garbage()
        sys.unraisablehook = before


def collect_garbage() -> None:
    """Free what some lives have left. Doing so after each one takes a sixth of its time."""
    global lives_ended
    lives_ended += 1
    gc.enable()
    if lives_ended % LIVES_PER_COLLECTION == 0:
        gc.collect()


def run_life(seed: object, swarm: Swarm | None = None) -> Life:
    """Run the life of a seed to its end, and return it with its story and failures."""
    return run_script(draw_script(seed, swarm))


def run_script(script: Script) -> Life:
    """Run a life to its end, and return it with its story and failures."""
    with open_life(script) as life:
        try:
            life.loop.run_until_complete(life.live())
        except NothingLeft as error:
            life.fail(f"standstill: {error}")
        for context in life.loop.errors:
            cause = context.get("exception")
            life.fail(f"error: {context.get('message')} {''.join(traceback.format_exception(cause)) if cause else ''}")
    return life
