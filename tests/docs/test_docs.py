"""Whatever the pages show is run as it stands, and what they say one sees is what one sees."""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from postino.job import State
from tests.cli.terminal import in_terminal
from tests.documents import EVERYTHING, PAGES, README, ROOT, blocks
from tests.rehearsal import Rehearsal
from tests.rehearsed import settled_jobs

DOCS = ROOT / "docs"
EXTENDING, QUICKSTART = DOCS / "extending.md", DOCS / "quickstart.md"
KINDS = {"python", "console", "json", "csv", "sql", "toml", "mermaid", "text"}
# The one that adds a network comes first, because `up` reads its settings when it starts; it then runs for all.
FIRST = [EXTENDING, README, QUICKSTART]
PLAYED = [*FIRST, *(page for page in PAGES if page not in FIRST and blocks(page, "python", "console"))]


@pytest.mark.parametrize("page", EVERYTHING, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_are_of_a_kind_that_is_checked(page: Path) -> None:
    assert {block.language for block in blocks(page)} <= KINDS
    assert all(block.is_marked_rightly for block in blocks(page))
    assert all(block.commands for block in blocks(page, "console"))


@pytest.mark.slow
@pytest.mark.timeout(300)  # pages show a hundred commands, each of them a process
def test_what_the_pages_show_works_in_the_order_it_is_shown(tmp_path: Path) -> None:
    with Rehearsal(tmp_path) as rehearsal:
        for page in PLAYED:
            rehearsal.turn_to(page.stem)
            for block in blocks(page):
                rehearsal.play(block)
    jobs = settled_jobs(tmp_path / EXTENDING.stem / "letters-data", "letter.send", 1005)
    ends = Counter(job.state for job in jobs)
    assert ends == {State.COMPLETED: 1002, State.FAILED: 1, State.PENDING: 1, State.CANCELLED: 1}
    [failed] = [job for job in jobs if job.state is State.FAILED]
    assert failed.last_error == "nowhere is not an address."


@pytest.mark.slow
def test_what_the_quickstart_says_one_sees_first_is_what_one_sees(tmp_path: Path) -> None:
    def without_particulars(text: str) -> list[str]:
        secret = r"postino_[\w…-]+|(?<=token=)[\w.…-]+"
        for particular in (secret, r"127\.0\.0\.1:\d+", r"(?<= )/\S*/(?=postino\.log)|(?<=on )/\S+(?=\. )"):
            text = re.sub(particular, "…", text)
        return [re.sub(r"^  (\S+ -m |\S+/)?postino ", "  postino ", line.rstrip()) for line in text.splitlines()]

    said = in_terminal("up", "--port", "0", until="it stopped", POSTINO_DATA_DIR=str(tmp_path))
    [sample] = [block for block in blocks(QUICKSTART, "text") if "Postino is up" in block.text]
    assert without_particulars(said) == without_particulars(sample.text)


def test_the_rehearsal_would_notice_a_command_that_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ postino jobs show 01932c07-5b1e-7cc3-98c4-dc0c0c07398f\n```\n")
    with Rehearsal(tmp_path) as rehearsal, pytest.raises(AssertionError, match="exit code 3"):
        rehearsal.play(blocks(page)[0])


def test_the_commands_come_from_this_environment() -> None:
    assert shutil.which("postino", path=str(Path(sys.executable).parent))
