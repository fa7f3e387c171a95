"""Failing lives become short stories that replay, and lives that once failed stay clean."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from postino.testing.simulation.shrinking import Budget, leave_out
from tests.simulator.regressions import list_files, load
from tests.simulator.script import Script, draw_script
from tests.simulator.test_lives import run_simulator

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("needed", [{0}, {19}, {3, 4, 12}, {*range(20)}, set[int]()])
def test_only_needed_parts_are_kept(needed: set[int]) -> None:
    def still_fails(parts: Sequence[int]) -> bool:
        return needed <= {*parts}

    assert leave_out(range(20), still_fails) == sorted(needed)


def test_budget_ends_by_runs_and_by_time() -> None:
    budget = Budget(2, 60.0)
    assert [budget.take() for _ in range(3)] == [True, True, False]
    assert not Budget(2, -1.0).take()


def test_script_survives_json() -> None:
    script = replace(draw_script(7), accounts=("telegram:postcard",), order=2)
    again = Script.from_json(script.to_json({"failure": "twice"}))
    bare = replace(script, swarm=replace(script.swarm, acts={}, events={}))
    assert replace(again, swarm=replace(again.swarm, acts={}, events={})) == bare


def test_shrunk_story_of_a_planted_bug_is_short_and_replays(tmp_path: Path) -> None:
    bug = "lost response as not sent"
    whole = run_simulator("--seed", "0", "--planted", bug, "--runs", "30", "--save", str(tmp_path))
    assert whole.returncode == 1, whole.stderr
    story, _, shrunk = whole.stdout.partition("The shrunk story of SEED=0")
    assert "BROKEN: twice: " in story
    assert "BROKEN: twice: " in shrunk
    assert "gets no readable response" in shrunk
    assert len(shrunk.splitlines()) < min(20, len(story.splitlines()))
    [file] = tmp_path.iterdir()
    replayed = run_simulator("--seed", str(file), "--planted", bug, "--runs", "0")
    assert replayed.returncode == 1, replayed.stderr
    assert replayed.stdout.splitlines()[0] in shrunk
    assert next(it for it in replayed.stdout.splitlines() if "BROKEN" in it) in shrunk
    assert run_simulator("--seed", str(file)).returncode == 0


def test_saved_lives_do_not_fail_again() -> None:
    run = run_simulator("--replay")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {}


@pytest.mark.parametrize("file", list_files(), ids=lambda file: file.stem)
def test_saved_life_says_what_it_broke(file: Path) -> None:
    assert json.loads(file.read_text())["failure"]
    assert load(file).acts or load(file).events
