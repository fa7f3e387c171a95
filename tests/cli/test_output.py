"""How answers look in a terminal and elsewhere."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from postino import Reject, Retry
from postino.cli import output
from postino.job import new_id
from tests.cli.desk import Desk

COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-9]m")
DEADLINE = 20.0


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "0 s ago"), (-1, "1 s ago"), (59, "in 59 s"), (300, "in 5 min"), (-7200, "2 h ago"), (200_000, "in 2 d")],
)
def test_how_far_away_an_instant_is(seconds: int, told: str) -> None:
    assert output.distance(timedelta(seconds=seconds)) == told


def test_instants_are_shown_in_utc_to_the_second() -> None:
    assert output.instant(datetime(2026, 3, 1, 9, 5, 7, 999_999, tzinfo=UTC)) == "2026-03-01T09:05:07Z"


def test_a_narrow_terminal_keeps_the_id_when_it_runs_and_the_error_and_drops_the_least_needed() -> None:
    columns = ("ID", "STATE", "QUEUE", "TYPE", "CHANNEL", "ATTEMPTS", "RUN_AT", "LAST_ERROR")
    row = (str(new_id()), "pending", "default", "post", "instagram", 1, datetime.now(UTC), "x" * 200)
    assert [columns[index] for index in output.fitting(columns, [row], 200)] == list(columns)
    assert [columns[index] for index in output.fitting(columns, [row], 80)] == ["ID", "STATE", "RUN_AT", "LAST_ERROR"]
    calm = (*row[:-1], None)
    assert [columns[index] for index in output.fitting(columns, [calm], 80)] == ["ID", "STATE", "TYPE", "RUN_AT"]


def test_a_list_at_80_columns_has_one_line_per_job_and_tells_when_it_runs(desk: Desk) -> None:
    failed, waiting = desk.settled(Reject("The caption " + "is too long " * 20)), desk.enqueue("a.very.long.type")
    lines = [COLOURS.sub("", line).rstrip() for line in in_terminal("jobs", "list").splitlines()]
    shown = [line for line in lines if line[1:].startswith(("ID", str(failed.id), str(waiting.id)))]
    assert [line.split()[:3] for line in shown] == [
        ["ID", "STATE", "RUN_AT"],
        [str(waiting.id), "pending", output.instant(waiting.run_at or waiting.created_at)],
        [str(failed.id), "failed", "-"],
    ]
    assert shown[2].endswith("…")
    assert max(map(len, lines)) <= 80


def test_a_dead_letter_in_a_terminal_ends_with_what_one_can_do(desk: Desk, folder: Path) -> None:
    busy, wrong = desk.settled(Retry("busy")), desk.settled(Reject("no"))
    for job, replays in ((busy, [""]), (wrong, [" --payload JSON", " --force"])):
        said = in_terminal("dead", "show", str(job.id), "--data-dir", str(folder)).splitlines()
        steps = [f"dead replay {job.id}{how}" for how in replays] + [f"dead discard {job.id} --reason WHY"]
        told = [line.partition("postino ")[2] for line in said[-len(steps) :]]
        assert told == [f"{step} --data-dir {folder}" for step in steps]


def test_up_fits_a_terminal_of_80_by_24_and_its_commands_can_be_copied(folder: Path) -> None:
    said = COLOURS.sub("", in_terminal("up", "--exit", "--data-dir", str(folder)))
    last = said[said.rindex("WHAT_IT_IS") :].splitlines()
    rows = [line for line in last if re.match(r" \d  ", line)]
    assert [row.split()[0] for row in rows] == list("123456789")
    assert re.search(r"refused for good +failed +1 +- +The caption.*…", rows[6])
    assert len(last) <= 20
    assert last[-1].partition("postino ")[2].startswith("jobs show ")
    assert last[-1].endswith(f" --data-dir {folder}")


def test_a_terminal_gets_colours_unless_it_says_no(desk: Desk, folder: Path) -> None:
    job = desk.settled(Reject("no"))
    shown = in_terminal("jobs", "list")
    assert str(job.id) in shown
    assert COLOUR.search(shown)
    plain = in_terminal("jobs", "list", NO_COLOR="1")
    assert str(job.id) in plain
    assert not COLOUR.search(plain)


def in_terminal(*arguments: str, **environment: str) -> str:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "postino", *arguments]
    surroundings = os.environ | {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", **environment}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=surroundings) as process:
        os.close(theirs)
        said = b"".join(iter(lambda: read_from(ours), b"")).decode()
        os.close(ours)
        assert process.wait(DEADLINE) == 0, said
    return said


def read_from(terminal: int) -> bytes:
    assert select.select([terminal], [], [], DEADLINE)[0], "nothing more was said, and it did not end"
    try:
        return os.read(terminal, 4096)
    except OSError:  # how Linux says that the other side is gone
        return b""
