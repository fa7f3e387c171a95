"""`postino posts import`."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Postino
from tests.cli.desk import Desk

ADA = "bluesky:ada"
FINE = f"text,accounts,at\nHello,{ADA},2035-06-01T12:00\nAgain,{ADA},2035-06-02T12:00\n"


@pytest.fixture(autouse=True)
def _ada(desk: Desk) -> None:
    desk.perform(lambda app: app.accounts.add("bluesky", "ada", {"password": "x"}))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "posts.csv"
    file.write_text(FINE)
    return file


def test_a_file_is_planned_once(file: Path, postino: Postino) -> None:
    words = ("posts", "import", file, "--timezone", "Europe/Rome")
    tried = postino(*words, "--dry-run")
    assert (tried.code, tried.out) == (0, "2 lines. Nothing was saved.\n")
    assert postino("posts", "list", "--json").json["data"] == []
    assert postino(*words).out == "2 lines: 2 posts are planned.\n"
    hello = postino("posts", "list", "--json").json["data"][1]
    assert (hello["text"], hello["scheduled_at"]) == ("Hello", "2035-06-01T10:00:00.000000Z")
    assert postino(*words).out == "2 lines: 0 posts are planned, 2 were known already.\n"
    assert len(postino("posts", "list", "--json").json["data"]) == 2


def test_what_is_wrong_is_told_by_its_line_and_the_rest_is_saved(
    postino: Postino, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = f"{FINE}Never,bluesky:bob,2035-06-03T12:00\n".encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(wrong)))
    answer = postino("posts", "import", "-", "--timezone", "UTC")
    assert answer.code == 1
    assert [row.split()[:3] for row in answer.rows[:2]] == [
        ["LINE", "COLUMN", "VALUE"], ["4", "accounts", "bluesky:bob"],
    ]  # fmt: skip
    assert answer.rows[2] == "3 lines, 1 of them with faults: 2 posts are planned."


def test_a_file_that_cannot_be_read_and_a_zone_that_is_none_are_wrong_use(file: Path, postino: Postino) -> None:
    assert "cannot be read" in postino("posts", "import", "nowhere.csv").err
    refused = postino("posts", "import", file, "--timezone", "Rome")
    assert (refused.code, "Did you mean Europe/Rome?" in refused.err) == (2, True)
