"""`postino forecast`."""

from __future__ import annotations

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest

from postino import Postino as App
from postino.cli.forecast_table import shorten_text
from postino.publishing.post_request import PostRequest
from postino.values.content import Content
from tests.cli.conftest import Postino
from tests.cli.local_queue import LocalQueue
from tests.cli.terminal import run_in_terminal


def soon(**later: float) -> str:
    return (datetime.now(UTC) + timedelta(**later)).isoformat()


@pytest.fixture
def due(local_queue: LocalQueue) -> list[str]:
    """Two of one account and one without any, in an hour."""
    at = datetime.now(UTC) + timedelta(hours=1)
    details = [("letters", "m1"), ("letters", "m1"), ("reports", None)]
    return [str(local_queue.enqueue(channel=channel, account=account, at=at).id) for channel, account in details]


def test_forecast_lists_jobs_with_totals(due: list[str], postino: Postino) -> None:
    answer = postino("forecast", "--until", soon(hours=2), "--seconds-per-job", "30")
    assert answer.code == 0
    assert [row.split()[0] for row in answer.rows[:1]] == ["STARTED_AT"]
    assert all(job in answer.out for job in due)
    assert "The job waits until its account" in answer.out
    assert "By channel" in answer.out
    assert "No worker is running" in answer.err


LONG = "Open until ten tonight, and tomorrow from nine in the morning on"


@pytest.fixture
def post(local_queue: LocalQueue) -> str:
    """Due in an hour, while its brand and its account are paused."""

    async def plan(app: App) -> str:
        await app.accounts.add("bluesky", "ada", {"password": "x"}, brand="acme")
        at = datetime.now(UTC) + timedelta(hours=1)
        [written] = await app.posts.schedule(PostRequest(content=Content(body=LONG), accounts=("bluesky:ada",), at=at))
        return str(written.post.job.id)

    return local_queue.perform(plan)


def test_post_is_shown_by_account_and_first_words(post: str, due: list[str], postino: Postino) -> None:
    answer = postino("forecast", "--until", soon(hours=2))
    assert answer.rows[0].split()[:3] == ["STARTED_AT", "BY", "WHAT"]
    [row] = [line for line in answer.rows if post in line]
    assert "  bluesky:ada  Open until ten tonight, and tomorrow…  " in row
    assert len([line for line in answer.rows if "  reports  " in line]) == 1


def test_each_wait_is_a_sentence(post: str, postino: Postino) -> None:
    postino("queues", "pause", "--brand", "acme", "--reason", "recall")
    postino("queues", "pause", "--account", "bluesky:ada")
    answer = postino("forecast", "--until", soon(hours=2))
    assert "Brand acme is paused: recall. Account bluesky:ada is paused.  " in answer.out


@pytest.mark.parametrize("width", ["80", "200"])
def test_terminal_shows_texts_instead_of_ids(post: str, folder: Path, width: str) -> None:
    result = run_in_terminal("forecast", "--until", soon(hours=2), POSTINO_DATA_DIR=str(folder), COLUMNS=width)
    assert "Open until" in result
    assert "bluesky:ada" in result
    assert post not in result
    assert ("SCHEDULED_AT" in result) is (width == "200")


@pytest.mark.parametrize(
    ("text", "message"),
    [("Few\nwords", "Few words"), ("x" * 41, "x" * 39 + "…"), ("ab " * 20, "ab " * 12 + "ab…"), ("", "-")],
)
def test_shorten_text(text: str, message: str) -> None:
    assert shorten_text(text) == message


def test_json_output_has_all_fields(due: list[str], postino: Postino) -> None:
    body = postino("forecast", "--until", soon(hours=2), "--seconds-per-job", "30", "--workers", "2", "--json").json
    assert {it["id"] for it in body["started_jobs"]} == set(due)
    assert sorted(it["delay_seconds"] for it in body["started_jobs"]) == pytest.approx([0, 0, 30], abs=0.5)
    assert (body["workers"], body["unstarted_jobs"]) == (2, [])
    only = postino("forecast", "--until", soon(hours=2), "--channel", "reports", "--json").json
    assert [it["id"] for it in only["started_jobs"]] == due[2:]


def test_forecast_queues_and_runs_nothing(due: list[str], local_queue: LocalQueue, postino: Postino) -> None:
    before = [
        local_queue.perform(lambda app: app.store.audit(100)),
        local_queue.perform(lambda app: app.store.queue_depths()),
    ]
    assert postino("forecast", "--until", soon(days=2)).code == 0
    assert [
        local_queue.perform(lambda app: app.store.audit(100)),
        local_queue.perform(lambda app: app.store.queue_depths()),
    ] == before


def test_times_are_in_the_requested_zone(due: list[str], postino: Postino) -> None:
    there = (datetime.now(UTC) + timedelta(hours=11)).replace(tzinfo=None)  # Tokyo's clocks in two hours
    answer = postino("forecast", "--until", there.isoformat(timespec="minutes"), "--timezone", "Asia/Tokyo")
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
def test_invalid_input_is_rejected_by_name(
    wrong: list[str], field: str, named: str, due: list[str], postino: Postino
) -> None:
    given = wrong if "--until" in wrong else ["--until", soon(hours=2), *wrong]
    answer = postino("forecast", *given, "--json")
    assert (answer.code, answer.error["field"], answer.out) == (2, field, "")
    assert named in answer.error["message"]


def test_picture_is_svg_with_every_job(due: list[str], postino: Postino, tmp_path: Path) -> None:
    answer = postino("forecast", "--until", soon(hours=2), "--picture", tmp_path / "out.svg")
    assert answer.code == 0
    assert "out.svg" in answer.err
    drawn = (tmp_path / "out.svg").read_text()
    ElementTree.fromstring(drawn)
    assert all(job in drawn for job in due)


def test_png_needs_a_rasteriser(
    due: list[str], postino: Postino, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    refused = postino("forecast", "--until", soon(hours=2), "--picture", "out.png")
    assert refused.code == 2
    assert "Use out.svg" in refused.err
    program = tmp_path / "rsvg-convert"
    program.write_text('#!/bin/sh\n[ "$1" = --output ] && read line < "$3" && printf "made of %s" "$line" > "$2"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert postino("forecast", "--until", soon(hours=2), "--picture", "out.png").code == 0
    assert (tmp_path / "out.png").read_text().startswith("made of <svg ")
    program.write_text("#!/bin/sh\necho no fonts >&2\nexit 1\n")
    failed = postino("forecast", "--until", soon(hours=2), "--picture", "again.png")
    assert failed.code == 1
    assert "no fonts" in failed.err
    assert not (tmp_path / "again.png").exists()


def test_terminal_shows_table(due: list[str], folder: Path) -> None:
    result = run_in_terminal("forecast", "--until", soon(hours=2), POSTINO_DATA_DIR=str(folder), COLUMNS="200")
    assert "STARTED_AT" in result
    assert "BRAND" not in result  # nobody has one
    assert due[0] in result
