"""Simulated lives in the test suite: fixed and new seeds, the same life twice, and bugs that lives must find."""

import json
import os
import random
import subprocess
import sys

import pytest

from tests.simulator.planted_bugs import BUGS

pytestmark = pytest.mark.slow
LIVES = 25  # of each part
NEW = int(os.environ.get("SIMULATION_SEED") or random.SystemRandom().randrange(10**9))  # other ones in each run
FIRSTS = {"fixed 1": 0, "fixed 2": LIVES, "new": NEW}
QUICKLY_FOUND = ("lane hint of an update", "lane hint of an end", "lost response as not sent")


def run_simulator(*options: str) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    command = [sys.executable, "-W", "ignore", "-m", "tests.simulator", *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)


def tell_failures(failures: dict[str, str]) -> str:
    """Return the failures of some lives, and the shrunk story of the first one."""
    lines = [f"make simulate SEED={seed}: {failure}" for seed, failure in failures.items()]
    story = run_simulator("--seed", next(iter(failures)), "--brief", "--shrink", "30")
    return "\n".join([*lines, story.stdout, story.stderr])


@pytest.mark.parametrize("part", FIRSTS)
def test_no_promise_is_broken_in_any_life(part: str) -> None:
    first = FIRSTS[part]
    print(f"seeds {first} to {first + LIVES - 1}")
    run = run_simulator("--part", "--first", str(first), "--seeds", str(LIVES))
    assert run.returncode == 0, run.stderr
    failures = json.loads(run.stdout)["failures"]
    assert not failures, tell_failures(failures)


def test_life_is_the_same_after_other_lives() -> None:
    alone = run_simulator("--seed", "3")
    after_others = run_simulator("--seed", "3", "--after", "2")
    assert len(alone.stdout.splitlines()) > 20, alone.stderr
    assert after_others.stdout == alone.stdout


@pytest.mark.parametrize("name", QUICKLY_FOUND)
def test_planted_bug_is_found(name: str) -> None:
    run = run_simulator("--part", "--first", "0", "--seeds", "40", "--stop", "--planted", name)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["failures"]


@pytest.mark.parametrize("name", BUGS)
def test_planted_bug_still_applies(name: str) -> None:
    BUGS[name].check()  # raises an error otherwise
