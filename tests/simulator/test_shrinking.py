"""Failing lives become short stories that replay, and lives that once failed stay clean."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from postino.testing.simulation.hits import NumberedRates
from postino.testing.simulation.shrinking import Budget, leave_out
from tests.simulator.life import run_script
from tests.simulator.regressions import list_files, load
from tests.simulator.script import Script, draw_script
from tests.simulator.swarm import Swarm
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


def test_act_that_is_left_out_changes_no_draw_of_the_others() -> None:
    swarm = Swarm(seconds=6.0, workers=1, pace=1.0, calm=3.0, acts={"publish": 1.0})
    script = draw_script(4, swarm)
    written = list_written(script)
    assert len(written) > 3
    assert list_written(replace(script, acts=script.acts[1:])) == written[1:]


def list_written(script: Script) -> list[str]:
    """Return which posts users write in a life, for which accounts, and whether at once."""
    lines = [sentence for _, sentence in run_script(script).story if sentence.startswith("a user writes")]
    return [line.partition(" at ")[0] for line in lines]


def test_single_hit_of_a_fault_can_be_left_out() -> None:
    all_hits, without_second = NumberedRates({"drop": 0.5}), NumberedRates({"drop": 0.5}, {"drop": [1, 3]})
    for rates, hits in ((all_hits, [True, True, True]), (without_second, [True, False, True])):
        assert [draw < rates.get("drop", 0.0) for draw in (0.1, 0.9, 0.2, 0.3)] == [hits[0], False, *hits[1:]]
        assert rates.get("slow", 0.0) == 0.0
    assert all_hits.list_hits() == {"drop": (1, 2, 3)}
    assert without_second.list_hits() == {"drop": (1, 3)}


def test_shrunk_story_of_a_planted_bug_is_shorter_and_replays(tmp_path: Path) -> None:
    planted = ("--planted", "lost response as not sent")
    found = run_simulator(
        "--seeds", "40", "--stop", "--processes", "1", "--runs", "20", "--save", str(tmp_path), *planted
    )
    assert found.returncode == 1, found.stderr
    story = found.stdout.partition("The shrunk story of SEED=")[2]
    counts = re.search(r"\((\d+) of (\d+) acts, (\d+) of (\d+) events, (\d+) of (\d+) faults", story)
    assert counts, found.stdout
    kept, drawn = [int(it) for it in counts.groups()[::2]], [int(it) for it in counts.groups()[1::2]]
    assert sum(kept) < sum(drawn)
    assert "gets no readable response" in story
    [file] = tmp_path.iterdir()
    replayed = run_simulator("--seed", str(file), "--runs", "0", *planted)
    assert replayed.returncode == 1, replayed.stderr
    assert "BROKEN: twice: " in replayed.stdout
    assert replayed.stdout.partition("\n\n")[0] in story
    assert run_simulator("--seed", str(file)).returncode == 0


def test_saved_lives_do_not_fail_again() -> None:
    run = run_simulator("--replay")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {}


@pytest.mark.parametrize("file", list_files(), ids=lambda file: file.stem)
def test_saved_life_says_what_it_broke(file: Path) -> None:
    assert json.loads(file.read_text())["failure"]
    assert load(file).acts or load(file).events
