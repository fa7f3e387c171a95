"""`postino posts import`."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Postino
from tests.cli.local_queue import LocalQueue

ADA = "bluesky:ada"
FINE = f"text,accounts,at\nHello,{ADA},2035-06-01T12:00\nAgain,{ADA},2035-06-02T12:00\n"


@pytest.fixture(autouse=True)
def _ada(local_queue: LocalQueue) -> None:
    local_queue.perform(lambda app: app.accounts.add("bluesky", "ada", {"password": "x"}))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "posts.csv"
    file.write_text(FINE)
    return file


def test_file_is_imported_once(file: Path, postino: Postino) -> None:
    words = ("posts", "import", file, "--timezone", "Europe/Rome")
    tried = postino(*words, "--dry-run")
    assert (tried.code, tried.out) == (0, "2 lines, no errors: 2 posts would be scheduled. Nothing was saved.\n")
    assert postino("posts", "list", "--json").json["data"] == []
    assert postino(*words).out == "2 lines: 2 posts are scheduled.\n"
    hello = postino("posts", "list", "--json").json["data"][1]
    assert (hello["text"], hello["scheduled_at"]) == ("Hello", "2035-06-01T10:00:00.000000Z")
    assert postino(*words).out == "2 lines: 0 posts are scheduled, 2 existed already.\n"
    assert len(postino("posts", "list", "--json").json["data"]) == 2


def test_errors_name_lines_and_the_rest_is_saved(postino: Postino, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = f"{FINE}Never,bluesky:bob,2035-06-03T12:00\n".encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(wrong)))
    answer = postino("posts", "import", "-", "--timezone", "UTC")
    assert answer.code == 1
    assert [row.split()[:3] for row in answer.rows[:2]] == [
        ["LINE", "COLUMN", "VALUE"], ["4", "accounts", "bluesky:bob"],
    ]  # fmt: skip
    assert answer.rows[2] == "3 lines, 1 of them with errors: 2 posts are scheduled."


def test_unreadable_file_or_unknown_zone_is_wrong_use(file: Path, postino: Postino) -> None:
    assert "cannot be read" in postino("posts", "import", "nowhere.csv").err
    refused = postino("posts", "import", file, "--timezone", "Rome")
    assert (refused.code, "Did you mean Europe/Rome?" in refused.err) == (2, True)


@pytest.mark.parametrize(
    "text", ["", "text;accounts;at;hashtag\nHi;bluesky:ada;2035-06-01T12:00Z;#a\n", "text,accounts,at\n"]
)
def test_file_without_valid_lines_is_exit_code_1(
    file: Path, text: str, local_queue: LocalQueue, postino: Postino
) -> None:
    file.write_text(text)
    for more in ([], ["--dry-run"]):
        answer = postino("posts", "import", file, *more)
        assert (answer.code, answer.rows[-1]) == (1, "The file has no line that is a post. Nothing was saved.")
        assert answer.rows[1].startswith("1 ")
        assert "first_comment" not in answer.out


def test_equal_problems_are_grouped_and_name_options(file: Path, local_queue: LocalQueue, postino: Postino) -> None:
    answer = postino("posts", "import", file, "--dry-run")
    assert [row.split("  ")[:2] for row in answer.rows[1:2]] == [["2, 3", "at"]]
    assert "Add --timezone or an offset" in answer.rows[1]
    assert answer.rows[2:] == ["2 lines, 2 of them with errors: 0 posts would be scheduled. Nothing was saved."]


def test_different_problems_are_listed_separately(file: Path, local_queue: LocalQueue, postino: Postino) -> None:
    rows = [f"Hello {number},bluesky:b{number},2035-06-01T12:00Z" for number in range(2)]
    rows += [f"Hello {number},bluesky:ada,soon" for number in range(7)]
    file.write_text("\n".join(["text,accounts,at", *rows]))
    result = postino("posts", "import", file, "--dry-run").rows
    assert [row.split("  ")[0] for row in result[1:-1]] == ["2", "3", "4, 5, 6, 7, 8 and 2 more"]


def test_all_problems_of_a_line_are_listed(file: Path, local_queue: LocalQueue, postino: Postino) -> None:
    file.write_text("text;accounts;at\n;bluesky:bob;2035-06-01T12:00Z;more\n")
    answer = postino("posts", "import", file)
    assert answer.code == 1
    for words in ("Put quotes around values that contain semicolons", "Account 'bluesky:bob' does not exist"):
        assert words in answer.out
    file.write_text("text;accounts;at\n;bluesky:bob;2035-06-01T12:00Z\n")
    answer = postino("posts", "import", file)
    assert [row.split()[1] for row in answer.rows[1:-1]] == ["accounts", "text"]
    assert answer.rows[-1] == "1 line, which has errors: 0 posts are scheduled."
