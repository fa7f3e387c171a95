"""Whatever the pages show is run as it stands, and what they say one sees is what one sees."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from postino.values.job import State
from tests.doc_runner import DocRunner, compare, plain
from tests.doc_states import settled_jobs
from tests.documents import EVERYTHING, PAGES, README, ROOT, Block, blocks

DOCS = ROOT / "docs"
EXAMPLE = ROOT / "examples" / "snap_processing" / "README.md"  # tests/examples runs it, on PostgreSQL
EXTENDING, QUICKSTART = DOCS / "extending.md", DOCS / "quickstart.md"
FORUM_HAS = [("Hello, forum", 1), ("Lost, and found again", 1)]
KINDS = {"python", "console", "json", "csv", "sql", "toml", "mermaid", "text"}
# The one that adds a network comes first, because `up` reads its settings when it starts; it then runs for all.
FIRST = [EXTENDING, README, QUICKSTART]
PLAYED = [*FIRST, *(page for page in PAGES if page not in FIRST and blocks(page, "python", "console"))]


@pytest.mark.parametrize("page", EVERYTHING, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_are_of_a_kind_that_is_checked(page: Path) -> None:
    assert {block.language for block in blocks(page)} <= KINDS
    assert all(block.is_marked_rightly for block in blocks(page))
    assert all(block.commands for block in blocks(page, "console"))


def classify_block(block: Block, before: Block | None, after: Sequence[Block] = ()) -> str | None:
    """Return what a test does with a block, or `marked` if it has a reason to be skipped."""
    if block.not_run:
        return "marked"
    match block.language:
        case "python" | "csv" | "toml" if block.file:
            return "saved and used" if is_used(block, after) else None
        case "python" | "console" if block.page in PLAYED or block.page == EXAMPLE:
            return "run"
        case "text" | "json" if before is not None and before.language in ("console", "python") and not before.file:
            return "compared with the output"
        case "toml" | "sql" | "mermaid":
            return "checked by tests/test_docs.py"
    return None


def is_used(block: Block, after: Sequence[Block]) -> bool:
    """Whether what follows names the file; settings are read by whatever is started."""
    stem = Path(block.file or "").stem
    following = "\n".join(other.text for other in after if not other.not_run)
    return re.search(rf"\b{stem}\b|^\$ postino", following, re.MULTILINE if stem == "postino" else 0) is not None


def fates(page: Path) -> list[tuple[Block, str | None]]:
    shown = blocks(page)
    before = [None, *shown]
    return [(block, classify_block(block, before[place], shown[place + 1 :])) for place, block in enumerate(shown)]


@pytest.mark.parametrize("page", EVERYTHING, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_is_run_or_marked_with_a_reason(page: Path) -> None:
    assert [block.text for block, fate in fates(page) if fate is None] == []
    assert all(len(block.not_run.split()) > 3 for block, _ in fates(page) if block.not_run)


def test_a_block_that_no_test_runs_is_detected() -> None:
    console, text = Block(README, "console", "$ python shop.py\n", None), Block(README, "text", "It is up.\n", None)
    shop = Block(README, "python", "print()", "file: shop.py")
    assert classify_block(console, None) == "run"
    assert classify_block(text, console) == "compared with the output"
    assert classify_block(text, None) is None
    assert classify_block(text, text) is None
    assert classify_block(Block(ROOT / "CHANGELOG.md", "console", "$ make up\n", None), None) is None
    assert classify_block(shop, None, [text, console]) == "saved and used"
    assert classify_block(shop, None, [text]) is None


@pytest.mark.parametrize(
    ("shown", "real", "alike"),
    [
        ({"a": 1}, {"a": 2.5}, True),
        ({"a": 1}, {"a": "1"}, False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"a": 1, "…": "…"}, {"a": 1, "b": 2}, True),
        ({"c": 1, "…": "…"}, {"a": 1, "b": 2}, False),
        ({"a": ["…"]}, {"a": [{"b": 1}, 2]}, True),
        ({"a": [{"b": 1}]}, {"a": [{"c": 1}]}, False),
        ({"a": [1]}, {"a": []}, True),
        ({"a": None}, {"a": "x"}, True),
        ([], {}, False),
    ],
)
def test_responses_are_compared_by_names_and_types(shown: object, real: object, alike: bool) -> None:
    if alike:
        compare(shown, real, "page")
    else:
        with pytest.raises(AssertionError, match="page"):
            compare(shown, real, "page")


def test_outputs_are_compared_without_changing_values() -> None:
    post = "01a1e22f-6f6d-7f71-a22e-4b7be0e12486"
    assert plain(f"a  publishing  {post}\na  published   {post}  http://127.0.0.1:1/\n") == [
        "a published ID http://HOST/"
    ]
    assert plain("at 2026-11-16T02:29:41Z.") == ["at TIME."]
    assert plain(f"a scheduled {post}") == ["a scheduled ID"]


def normalize_output(text: str) -> list[str]:
    """Return the output of `up` without addresses and secrets."""
    secret = r"postino_[\w…-]+|(?<=token=)[\w.…-]+"
    for particular in (secret, r"127\.0\.0\.1:\d+", r"(?<= )/\S*/(?=postino\.log)|(?<=on )/\S+(?=\. )"):
        text = re.sub(particular, "…", text)
    return [re.sub(r"^  (\S+ -m |\S+/)?postino ", "  postino ", line.rstrip()) for line in text.splitlines()]


@pytest.mark.slow
@pytest.mark.timeout(300)  # pages show a hundred commands, each of them a process
def test_the_commands_of_the_pages_work_in_order(tmp_path: Path) -> None:
    with DocRunner(tmp_path) as rehearsal:
        for page in PLAYED:
            rehearsal.turn_to(page.stem)
            for block in blocks(page):
                rehearsal.play(block)
                if page == EXTENDING and block.language == "json":
                    out = json.loads(rehearsal.output or "")
                    assert [(post["text"], post["sent"]) for post in out] == FORUM_HAS
    [greeting] = [block for block in blocks(QUICKSTART, "text") if "Postino is running" in block.text]
    assert normalize_output(rehearsal.greeting) == normalize_output(greeting.text)
    jobs = settled_jobs(tmp_path / EXTENDING.stem / "letters-data", "letter.send", 1005)
    ends = Counter(job.state for job in jobs)
    assert ends == {State.COMPLETED: 1002, State.FAILED: 1, State.PENDING: 1, State.CANCELLED: 1}
    [failed] = [job for job in jobs if job.state is State.FAILED]
    assert failed.last_error == "nowhere is not an address."


def test_the_rehearsal_would_notice_a_command_that_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ postino jobs show 01932c07-5b1e-7cc3-98c4-dc0c0c07398f\n```\n")
    with DocRunner(tmp_path) as rehearsal, pytest.raises(AssertionError, match="exit code 3"):
        rehearsal.play(blocks(page)[0])


def test_the_commands_come_from_this_environment() -> None:
    assert shutil.which("postino", path=str(Path(sys.executable).parent))
