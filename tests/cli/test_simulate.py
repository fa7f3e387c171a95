"""`postino simulate`."""

from __future__ import annotations

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Postino
from tests.cli.desk import Desk
from tests.cli.terminal import in_terminal


def soon(**later: float) -> str:
    return (datetime.now(UTC) + timedelta(**later)).isoformat()


@pytest.fixture
def due(desk: Desk) -> list[str]:
    """Two of one account and one without any, in an hour."""
    at = datetime.now(UTC) + timedelta(hours=1)
    details = [("mastodon", "m1"), ("mastodon", "m1"), ("reports", None)]
    return [str(desk.enqueue(channel=channel, account=account, at=at).id) for channel, account in details]


def test_what_would_run_is_listed_with_totals(due: list[str], postino: Postino) -> None:
    answer = postino("simulate", "--until", soon(hours=2), "--seconds-per-job", "30")
    assert answer.code == 0
    assert [row.split()[0] for row in answer.rows[:1]] == ["STARTED_AT"]
    assert all(job in answer.out for job in due)
    assert "It waits for its turn" in answer.out
    assert "By channel" in answer.out
    assert "No worker is running" in answer.err


def test_json_for_programs(due: list[str], postino: Postino) -> None:
    said = postino("simulate", "--until", soon(hours=2), "--seconds-per-job", "30", "--workers", "2", "--json").json
    assert {it["id"] for it in said["ran"]} == set(due)
    assert sorted(it["late_by"] for it in said["ran"]) == pytest.approx([0, 0, 30], abs=0.5)
    assert (said["workers"], said["left"]) == (2, [])
    only = postino("simulate", "--until", soon(hours=2), "--channel", "reports", "--json").json
    assert [it["id"] for it in only["ran"]] == due[2:]


def test_nothing_is_queued_and_nothing_runs(due: list[str], desk: Desk, postino: Postino) -> None:
    before = [desk.perform(lambda app: app.store.audit(100)), desk.perform(lambda app: app.store.depths())]
    assert postino("simulate", "--until", soon(days=2)).code == 0
    assert [desk.perform(lambda app: app.store.audit(100)), desk.perform(lambda app: app.store.depths())] == before


def test_times_are_those_of_the_zone_that_is_asked_for(due: list[str], postino: Postino) -> None:
    there = (datetime.now(UTC) + timedelta(hours=11)).replace(tzinfo=None)  # Tokyo's clocks in two hours
    answer = postino("simulate", "--until", there.isoformat(timespec="minutes"), "--timezone", "Asia/Tokyo")
    assert answer.code == 0
    assert " JST " in answer.out


@pytest.mark.parametrize(
    ("wrong", "field", "named"),
    [
        (["--until", "2020-01-01T00:00Z"], "until", "2020-01-01"),
        (["--until", "tomorrow"], "until", "tomorrow"),
        (["--until", "2999-01-01T00:00Z"], "until", "366 days"),
        (["--timezone", "Europe/Roma"], "timezone", "Europe/Rome"),
        (["--channel", "mastodn"], "channel", "mastodon"),
        (["--brand", "nobody"], "brand", "nobody"),
        (["--workers", "0"], "workers", "0"),
        (["--seconds-per-job", "-1"], "seconds_per_job", "-1"),
        (["--from", "2020-01-01T00:00Z"], "from", "in the past"),
        (["--picture", "out.gif"], "picture", ".svg"),
        (["--picture", "nowhere/out.svg"], "picture", "nowhere"),
    ],
)
def test_bad_input_is_refused_by_its_name(
    wrong: list[str], field: str, named: str, due: list[str], postino: Postino
) -> None:
    given = wrong if "--until" in wrong else ["--until", soon(hours=2), *wrong]
    answer = postino("simulate", *given, "--json")
    assert (answer.code, answer.refusal["field"], answer.out) == (2, field, "")
    assert named in answer.refusal["message"]


def test_the_picture_is_an_svg_with_every_job(due: list[str], postino: Postino, tmp_path: Path) -> None:
    answer = postino("simulate", "--until", soon(hours=2), "--picture", tmp_path / "out.svg")
    assert answer.code == 0
    assert "out.svg" in answer.err
    drawn = (tmp_path / "out.svg").read_text()
    ElementTree.fromstring(drawn)
    assert all(job in drawn for job in due)


def test_a_png_takes_a_program_that_can_make_one(
    due: list[str], postino: Postino, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    refused = postino("simulate", "--until", soon(hours=2), "--picture", "out.png")
    assert refused.code == 2
    assert "Say out.svg" in refused.err
    program = tmp_path / "rsvg-convert"
    program.write_text('#!/bin/sh\n[ "$1" = --output ] && read line < "$3" && printf "made of %s" "$line" > "$2"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert postino("simulate", "--until", soon(hours=2), "--picture", "out.png").code == 0
    assert (tmp_path / "out.png").read_text().startswith("made of <svg ")
    program.write_text("#!/bin/sh\necho no fonts >&2\nexit 1\n")
    failed = postino("simulate", "--until", soon(hours=2), "--picture", "again.png")
    assert failed.code == 1
    assert "no fonts" in failed.err
    assert not (tmp_path / "again.png").exists()


def test_a_terminal_shows_a_table(due: list[str], folder: Path) -> None:
    said = in_terminal("simulate", "--until", soon(hours=2), POSTINO_DATA_DIR=str(folder), COLUMNS="200")
    assert "STARTED_AT" in said
    assert "BRAND" not in said  # nobody has one
    assert due[0] in said
