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

from postino import Reject
from postino.cli import output
from postino.job import new_id
from tests.cli.desk import Desk

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


def test_a_narrow_terminal_keeps_the_id_and_the_last_column_and_drops_the_least_needed() -> None:
    columns = ("ID", "STATE", "QUEUE", "TYPE", "CHANNEL", "ATTEMPTS", "RUN_AT", "LAST_ERROR")
    row = (str(new_id()), "pending", "default", "post", "instagram", 1, datetime.now(UTC), "x" * 200)
    assert [columns[index] for index in output.fitting(columns, [row], 200)] == list(columns)
    assert [columns[index] for index in output.fitting(columns, [row], 80)] == ["ID", "STATE", "ATTEMPTS", "LAST_ERROR"]


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
    surroundings = os.environ | {"TERM": "xterm-256color", **environment}
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
