"""Interleaved operations in the test suite: fixed seeds, new seeds in each run, and bugs that they must find."""

import os
import random
import subprocess
import sys

import pytest

from tests.conftest import go_without
from tests.servers import ServerMissing
from tests.servers.postgres import find_binaries
from tests.simulator.interleaving.planted_bugs import BUGS

pytestmark = pytest.mark.slow
FIXED, NEW = 70, 30  # lives
FIRST_NEW = int(os.environ.get("SIMULATION_SEED") or random.SystemRandom().randrange(10**6, 10**9))
AGAIN = ("3", "12", "27")  # these run a second time, after all others
QUICKLY_FOUND = ("cap counted before its lock", "lock of the audit trail")
TIMEOUT = 220.0  # seconds, on a machine that does much else

Run = subprocess.CompletedProcess[str]


def run_lives(*options: str) -> Run:
    command = [sys.executable, "-W", "ignore", "-m", "tests.simulator.interleaving", *options]
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT)


@pytest.fixture(scope="module")
def has_postgres() -> None:
    try:
        find_binaries()
    except ServerMissing as missing:
        go_without(str(missing))


@pytest.fixture(scope="module")
def run(has_postgres: None) -> Run:
    """Run all lives once, in one process with one server."""
    seeds = [*range(FIXED), *range(FIRST_NEW, FIRST_NEW + NEW)]
    return run_lives("--fingerprints", "--these", ",".join([*map(str, seeds), *AGAIN]))


@pytest.mark.postgres
def test_concurrent_operations_keep_every_promise(run: Run) -> None:
    assert run.returncode == 0, f"python -m tests.simulator.interleaving …\n{run.stdout}\n{run.stderr}"


@pytest.mark.postgres
def test_same_seed_gives_the_same_interleaving(run: Run) -> None:
    stories = [line for line in run.stdout.splitlines() if line.partition(" ")[0] in AGAIN]
    assert len(stories) == 2 * len(AGAIN), run.stderr
    assert stories[: len(AGAIN)] == stories[len(AGAIN) :]


@pytest.mark.postgres
@pytest.mark.parametrize("name", QUICKLY_FOUND)
def test_planted_bug_is_found(has_postgres: None, name: str) -> None:
    found = run_lives("--stop", "--seeds", "20", "--planted", name)
    assert "--seed " in found.stdout, found.stderr


@pytest.mark.parametrize("name", BUGS)
def test_planted_bug_still_applies(name: str) -> None:
    BUGS[name].check()  # raises an error otherwise
