"""The app of one process in a run with faults, with the network or the handlers of the user."""

from __future__ import annotations

import base64
import inspect
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any

from postino import clock
from postino.app import App
from postino.config import CircuitsConfig, Config, PublishingConfig, VaultConfig, WorkerConfig
from postino.engine.call_context import HttpClientFactory
from postino.engine.handlers import Handler
from postino.engine.job_spec import JobSpec
from postino.engine.threads import Threads
from postino.engine.worker import Worker
from postino.providers.registry import NetworkRegistry, add_plugin, load_built_in
from postino.stores.driver import Driver
from postino.stores.memory import MemoryDriver
from postino.stores.store import Store
from postino.testing.faults_server import SERVER_URL, SimulatedServer
from postino.testing.simulation.http import SimulatedHttpFactory
from postino.testing.simulation.loop import make_loop
from postino.testing.simulation.process import SimulatedPostino, SimulatedWakeups
from postino.testing.simulation.source import SimulatedSource
from postino.values.content import Content
from postino.values.job import Job
from postino.values.provider import Provider
from postino.wiring import Postino

HANDLES = ("ada", "bob", "cleo")
CONFIG = Config(
    data_dir=Path("/nonexistent"),
    worker=WorkerConfig(concurrency=4, heartbeat=1.0, lease=4.0, poll=1.0, drain=3.0),
    publishing=PublishingConfig(timeout_factor=0.2, send_within=2.0),
    circuits=CircuitsConfig(failure_threshold=8, window=20.0, open_timeout=5.0),
    vault=VaultConfig(key=base64.b64encode(bytes(range(32))).decode()),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What runs with faults: a network, or the handlers of an app."""

    make_network: Callable[[], Provider] | None
    app: App | None
    make_server: Callable[[], SimulatedServer]
    jobs: Sequence[JobSpec]
    content: Callable[[int], Content]
    reset: Callable[[], object]
    check: Callable[[Sequence[Job]], Iterable[str]]
    accounts: tuple[str, ...] = ()  # of the network

    @property
    def config(self) -> Config:
        return CONFIG if self.app is None else replace(CONFIG, channels=self.app.config.channels)

    def make_job(self, number: int, at: datetime | None) -> JobSpec:
        """Return one of the user's jobs, as a job of its own."""
        return replace(self.jobs[(number - 1) % len(self.jobs)], at=at, key=f"key {number}")


class FaultyApp(SimulatedPostino):
    """Has the user's network, or handlers that report each run."""

    on_run: Callable[[Job], None]

    def __init__(
        self,
        subject: Subject,
        make_driver: Callable[[], Driver],
        wakeups: SimulatedWakeups,
        http: SimulatedHttpFactory,
        chance: random.Random,
        exit: Callable[[int], object],
        state_dir: Path | None = None,
    ) -> None:
        self._subject = subject
        super().__init__(subject.config, make_driver, wakeups, http, chance, exit, state_dir)
        if subject.app is not None:
            own = subject.app.handlers.items()
            self.handlers.update({name: self.watch(it) for name, it in own if name not in self.handlers})

    def load_networks(self, config: Config) -> NetworkRegistry:
        return load_registry(self._subject)

    def watch(self, handler: Handler) -> Handler:
        """Return a handler that reports when it begins."""
        function: Callable[..., Any] = handler.function

        @wraps(function)
        async def run(job: Job, *arguments: Any) -> Any:
            self.on_run(job)
            result = function(*(job, *arguments)[: handler.argument_count])
            return await result if inspect.isawaitable(result) else result

        return replace(handler, function=run, is_async=True, argument_count=max(1, handler.argument_count))

    def make_worker(self, http: HttpClientFactory) -> Worker:
        worker = super().make_worker(http)
        worker.runner.executor.threads = InlineThreads()
        return worker


class InlineThreads(Threads):
    """Runs plain functions at once: a simulation has no threads."""

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)


def load_registry(subject: Subject) -> NetworkRegistry:
    built_in = load_built_in()
    return built_in if subject.make_network is None else add_plugin(built_in, subject.make_network(), "run_with_faults")


def make_database(subject: Subject) -> tuple[bytes, tuple[str, ...]]:
    """Return a migrated database with accounts of the user's network, and the accounts' ids."""
    loop = make_loop("database")
    source = SimulatedSource("database", loop)
    driver = MemoryDriver(source.true_time)

    async def fill() -> tuple[str, ...]:
        await driver.migrate()
        app = _Registered(subject, driver)
        await app.apply_settings()
        if subject.make_network is None:
            return ()
        network = subject.make_network()
        credentials = dict.fromkeys(network.credentials, "simulated-credential")  # type: ignore[attr-defined]
        accounts = [
            await app.accounts.add(network.name, handle, credentials, base_url=SERVER_URL) for handle in HANDLES
        ]
        return tuple(it.id for it in accounts)

    with clock.use_source(source):
        accounts: tuple[str, ...] = loop.run_until_complete(fill())
    loop.close()
    return driver.connection.serialize("main"), accounts


class _Registered(Postino):
    def __init__(self, subject: Subject, driver: MemoryDriver) -> None:
        self._subject = subject
        super().__init__(subject.config, store=Store(driver))

    def load_networks(self, config: Config) -> NetworkRegistry:
        return load_registry(self._subject)
