"""The stores against each other and against the model, through lives no person would think of."""

import os
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import get_state_machine_test

from tests.simulation.machine import Life
from tests.simulation.world import Clock, World, opened

# So many lives of so many steps; POSTINO_SIMULATION_LIVES and _STEPS make it as long as one can wait.
LIVES = int(os.environ.get("POSTINO_SIMULATION_LIVES", "0"))
STEPS = int(os.environ.get("POSTINO_SIMULATION_STEPS", "30"))
PATIENCE = 0 if LIVES else 600  # a failure takes minutes to be made small


@pytest.mark.timeout(PATIENCE)
def test_sqlite_does_what_the_model_says(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with opened(Clock(), tmp_path / "sqlite.db") as world:
        live(world, LIVES or 40, request)


@pytest.mark.timeout(PATIENCE)
@pytest.mark.postgres
def test_sqlite_and_postgresql_do_what_the_model_says(
    tmp_path: Path, postgres_url: str, request: pytest.FixtureRequest
) -> None:
    with opened(Clock(), tmp_path / "both.db", postgres_url) as world:
        live(world, LIVES or 40, request)


def live(world: World, lives: int, request: pytest.FixtureRequest) -> None:
    """As hypothesis runs a state machine, but with a seed that is told when something broke."""
    given = request.config.getoption("--hypothesis-seed")
    chosen = int(given) if given not in (None, "random") else random.getrandbits(32)
    rules = settings(
        max_examples=lives,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        phases=[Phase.generate] if os.environ.get("POSTINO_SIMULATION_RAW") else [Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    try:
        seed(chosen)(get_state_machine_test(lambda: Life(world), settings=rules))()  # type: ignore[arg-type]
    except BaseException as broken:
        broken.add_note(f"the same again: pytest {request.node.nodeid} --hypothesis-seed={chosen}")
        raise
