"""The stores against each other and against the model, in random histories."""

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import get_state_machine_test

from tests.simulation.store_machine import StoreMachine
from tests.simulation.stores import Clock, StoresUnderTest, open_stores

# POSTINO_SIMULATION_LIVES=3000 makes it as long as one can wait; _STEPS makes each life longer. A failure is made
# small, which takes minutes, unless POSTINO_SIMULATION_RAW is set.
LIVES = int(os.environ.get("POSTINO_SIMULATION_LIVES", "0"))
STEPS = int(os.environ.get("POSTINO_SIMULATION_STEPS", "40"))
PHASES = [Phase.generate] if os.environ.get("POSTINO_SIMULATION_RAW") else [Phase.generate, Phase.shrink]
PATIENCE = 0 if LIVES else 600
FIXED = 1  # where a change is judged, it is judged by the same lives; everywhere else new ones are looked for


@pytest.fixture
def path() -> Iterator[Path]:
    """Return the path of the SQLite file, in memory where possible, because commits to disk are slow."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder) / "simulation.db"


@pytest.mark.timeout(PATIENCE)
def test_sqlite_does_what_the_model_says(path: Path, request: pytest.FixtureRequest) -> None:
    with open_stores(Clock(), path) as world:
        live(world, LIVES or 15, request)


@pytest.mark.timeout(PATIENCE)
@pytest.mark.postgres
def test_sqlite_and_postgresql_do_what_the_model_says(
    path: Path, postgres_url: str, request: pytest.FixtureRequest
) -> None:
    with open_stores(Clock(), path, postgres_url) as world:
        live(world, LIVES or 15, request)


def live(world: StoresUnderTest, lives: int, request: pytest.FixtureRequest) -> None:
    """Run the state machine with a seed that is printed on failure."""
    given = request.config.getoption("--hypothesis-seed")
    usual = FIXED if os.environ.get("CI") and not LIVES else random.getrandbits(32)
    chosen = int(given) if given not in (None, "random") else usual
    rules = settings(
        max_examples=lives,
        stateful_step_count=STEPS,
        phases=PHASES,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    try:
        seed(chosen)(get_state_machine_test(lambda: StoreMachine(world), settings=rules))()  # type: ignore[arg-type]
    except BaseException as broken:
        broken.add_note(f"the same again: pytest {request.node.nodeid} --hypothesis-seed={chosen}")
        raise
