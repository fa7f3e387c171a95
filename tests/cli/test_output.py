"""How answers look in a terminal and elsewhere."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from postino import Postino, Reject, Retry
from postino.cli import output
from postino.content import Content
from postino.job import new_id
from postino.publishing.posts import Wish
from tests.cli.desk import Desk
from tests.cli.terminal import in_terminal

COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-9]m")


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


@pytest.mark.slow
def test_up_in_a_terminal_says_where_to_look_and_its_commands_can_be_copied(folder: Path) -> None:
    said = in_terminal("up", "--port", "0", "--data-dir", str(folder), until="Ctrl-C").splitlines()
    told = dict(re.findall(r"  (\w[\w ]+?)  +(\S+)", "\n".join(said)))
    assert told["Log"] == str(folder / "postino.log")
    assert told["API key"] == (folder / "api.key").read_text().strip()
    assert told["Dashboard"].endswith(f"/#key={told['API key']}")
    assert len(said) <= 20
    commands = [line.strip() for line in said if "postino post" in line]
    assert len(commands) == 3
    assert all(command.endswith(f" --data-dir {folder}") for command in commands)
    assert '"event": "worker.stopped"' in (folder / "postino.log").read_text()


@pytest.mark.parametrize("width", [80, 120])
def test_a_list_of_posts_has_one_line_per_post(desk: Desk, folder: Path, width: int) -> None:
    async def make(app: Postino) -> None:
        await app.accounts.add("bluesky", "a.rather.long.handle.example.org", {"password": "x"})
        wish = Wish(content=Content(body="Many words " * 20), accounts=("bluesky:a.rather.long.handle.example.org",))
        await app.posts.schedule(wish)

    desk.perform(make)
    lines = [COLOURS.sub("", line).rstrip() for line in in_terminal("posts", "list", COLUMNS=str(width)).splitlines()]
    shown = [line for line in lines if re.match(r" [0-9a-f]{8}-", line)]
    assert len(shown) == 1
    assert "scheduled" in shown[0]
    assert max(map(len, lines)) <= width


def test_a_terminal_gets_colours_unless_it_says_no(desk: Desk, folder: Path) -> None:
    job = desk.settled(Reject("no"))
    shown = in_terminal("jobs", "list")
    assert str(job.id) in shown
    assert COLOUR.search(shown)
    plain = in_terminal("jobs", "list", NO_COLOR="1")
    assert str(job.id) in plain
    assert not COLOUR.search(plain)
