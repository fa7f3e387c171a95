"""Never published twice, never lost, in random histories with a network in memory as the oracle."""

import asyncio
import os
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import get_state_machine_test

from tests.simulation.ledger_machine import LedgerMachine
from tests.simulation.stores import Clock, StoresUnderTest, StoreUnderTest, postgres_side, sqlite_side

LIVES = int(os.environ.get("POSTINO_SIMULATION_LIVES", "0"))
STEPS = int(os.environ.get("POSTINO_SIMULATION_STEPS", "40"))
PHASES = [Phase.generate] if os.environ.get("POSTINO_SIMULATION_RAW") else [Phase.generate, Phase.shrink]
PATIENCE = 0 if LIVES else 600


@pytest.mark.timeout(PATIENCE)
def test_nothing_is_published_twice_and_nothing_is_lost_on_sqlite(request: pytest.FixtureRequest) -> None:
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        clock = Clock()
        live(clock, sqlite_side(Path(folder) / "simulation.db", clock), LIVES or 60, request)


@pytest.mark.timeout(PATIENCE)
@pytest.mark.postgres
def test_nothing_is_published_twice_and_nothing_is_lost_on_postgresql(
    postgres_url: str, request: pytest.FixtureRequest
) -> None:
    clock = Clock()
    live(clock, postgres_side(postgres_url, clock), LIVES or 12, request)


def live(clock: Clock, side: StoreUnderTest, lives: int, request: pytest.FixtureRequest) -> None:
    """Run the state machine with a seed that is printed on failure."""
    given = request.config.getoption("--hypothesis-seed")
    chosen = int(given) if given not in (None, "random") else random.getrandbits(32)
    rules = settings(
        max_examples=lives,
        stateful_step_count=STEPS,
        phases=PHASES,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    with asyncio.Runner() as runner:
        world = StoresUnderTest(runner.get_loop(), clock, [side])
        runner.run(side.store.migrate())
        runner.run(side.store.open())
        try:
            seed(chosen)(get_state_machine_test(lambda: LedgerMachine(world), settings=rules))()  # type: ignore[arg-type]
        except BaseException as broken:
            broken.add_note(f"the same again: pytest {request.node.nodeid} --hypothesis-seed={chosen}")
            raise
        finally:
            runner.run(side.store.close())
