"""A worker process inside a simulation: Postino's own worker, whose threads are tasks and whose files are real."""

import asyncio
import os
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import ParamSpec, TypeVar

from postino.config import Config
from postino.engine.call_context import HttpClientFactory
from postino.engine.file_thread import FileThread
from postino.engine.heartbeat import Heartbeat
from postino.engine.witness_file import WitnessFile, WitnessUnavailable
from postino.engine.worker import Worker
from postino.providers.registry import NetworkRegistry
from postino.rules.quota import Quota
from postino.stores.driver import Driver
from postino.stores.store import Store
from postino.testing.simulation.http import SimulatedHttpFactory
from postino.testing.simulation.loop import SimulationLoop
from postino.wakeups.local import LocalWakeup
from postino.wiring import Postino

WRITES = frozenset({"open", "append", "write_header"})  # of witness files
P = ParamSpec("P")
T = TypeVar("T")


class SimulatedWakeups:
    """Delivers wake-ups between processes; each may be late or lost."""

    def __init__(self, loop: SimulationLoop, chance: random.Random, lost: float) -> None:
        self.loop = loop
        self.chance = chance
        self.lost = lost
        self.listening: list[SimulatedWakeup] = []

    def notify(self) -> None:
        for wakeup in self.listening:
            if self.chance.random() >= self.lost:
                self.loop.call_later(self.chance.choice((0.0, 0.001, 0.1)), wakeup.notify_local)


class SimulatedWakeup(LocalWakeup):
    def __init__(self, wakeups: SimulatedWakeups) -> None:
        super().__init__()
        self.wakeups = wakeups

    def notify(self) -> None:
        self.notify_local()
        self.wakeups.notify()

    async def listen(self) -> None:
        if self not in self.wakeups.listening:
            self.wakeups.listening.append(self)


class HeartbeatTask(Heartbeat):
    """Checks the worker as the heartbeat's thread does, but as a task of the same loop."""

    def start(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.task = self.loop.create_task(self.check_until_cancelled())

    async def stop(self) -> None:
        self.task.cancel()

    async def check_until_cancelled(self) -> None:
        store = self.make_store()
        while True:
            await self.check(store)
            await asyncio.sleep(self.heartbeat / 4)


class InlineFiles(FileThread):
    """Runs calls on files at once, and lets other tasks run before and after each. A full disk refuses all writes."""

    def __init__(self, chance: random.Random, is_full: Callable[[], bool]) -> None:
        super().__init__("files", 0.0)
        self.chance = chance
        self.is_full = is_full

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self.is_full() and getattr(function, "__name__", "") in WRITES:
            raise WitnessUnavailable("The simulated disk is full.")
        await asyncio.sleep(self.chance.choice((0.0, 0.001)))
        self.start()
        result = function(*args, **kwargs)
        await asyncio.sleep(self.chance.choice((0.0, 0.001)))
        return result

    def start(self) -> None:
        while not self.calls.empty():
            call = self.calls.get()
            if call is not None:
                call()


class SimulatedPostino(Postino):
    """The app of one process. Every process has its own, on the same simulated database."""

    def __init__(
        self,
        config: Config,
        make_driver: Callable[[], Driver],
        wakeups: SimulatedWakeups,
        http: SimulatedHttpFactory,
        chance: random.Random,
        exit: Callable[[int], object],
        state_dir: Path | None = None,
        quotas: Mapping[str, Sequence[Quota]] | None = None,
        is_full: Callable[[], bool] = lambda: False,
    ) -> None:
        self._make_driver, self._quotas, self._is_full = make_driver, quotas or {}, is_full
        super().__init__(config, store=Store(make_driver()))
        self.wakeup = SimulatedWakeup(wakeups)
        self.gate_control.wake = self.wakeup.notify
        self._parts = replace(
            self._parts, wakeup=self.wakeup, make_http=http.connect, make_store=self._make_store, state_dir=state_dir
        )
        self._chance, self._exit = chance, exit
        self.worker: Worker | None = None

    def load_networks(self, config: Config) -> NetworkRegistry:
        """Return networks that remember nothing of other processes, with the quotas of the simulation."""
        registry = super().load_networks(config)
        providers = {name: type(it)() for name, it in registry.providers.items()}
        return replace(registry, providers=providers, quotas={**registry.quotas, **self._quotas})

    def _make_store(self) -> Store:
        return Store(self._make_driver())

    def make_worker(self, http: HttpClientFactory) -> Worker:
        worker = super().make_worker(http)
        settings = self.config.worker
        worker.heartbeat = HeartbeatTask(
            lambda: worker.id, self._make_store, worker.lease, settings.heartbeat, settings.stall, self._exit
        )
        worker.witness.storage.thread = InlineFiles(self._chance, self._is_full)
        self.worker = worker
        return worker

    def release_files(self) -> None:
        """Close the files of a killed process, as the system does."""
        file = self.worker.witness.storage.file if self.worker else None
        if isinstance(file, WitnessFile):
            with suppress(OSError):
                os.close(file.descriptor)
