"""Each promise says what it is, what it is not and how it is kept, and names tests that exist."""

from __future__ import annotations

import re

import pytest

from tests.crash.__main__ import KILLS
from tests.documents import ROOT, blocks, codes, flow_text, links, prose, table

PAGE = ROOT / "docs" / "guarantees.md"
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", prose(PAGE), re.MULTILINE | re.DOTALL))
PROMISES = [title for title in SECTIONS if title != "Try it yourself"]


def test_the_table_lists_all_nine_promises() -> None:
    assert len(PROMISES) == 9
    results = [row["promise"] for row in table(PAGE, "promise", "in short")]
    assert [re.sub(r"\[(.*)\].*", r"\1", cell) for cell in results] == PROMISES


@pytest.mark.parametrize("promise", PROMISES)
def test_a_promise_has_its_three_parts(promise: str) -> None:
    result = SECTIONS[promise]
    assert re.findall(r"^\*\*(.+?)\.\*\*", result, re.MULTILINE) == ["Promised", "Not promised", "How"]


@pytest.mark.parametrize("promise", PROMISES)
def test_a_promise_names_tests_that_exist(promise: str) -> None:
    rows = [line for line in SECTIONS[promise].splitlines() if line.startswith("| `tests/")]
    proofs = [proof for row in rows for proof in codes(row)]
    assert len(proofs) == len(set(proofs)) == len(rows) >= 5
    for proof in proofs:
        file, _, name = proof.partition("::")
        assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(), re.MULTILINE), proof


def test_the_test_in_the_example_command_exists() -> None:
    [shown, _] = blocks(PAGE, "console")
    [name] = re.findall(r"-k (test_\w+)", shown.text)
    assert name in prose(PAGE)


def test_the_docs_have_the_sizes_of_the_long_runs() -> None:
    result = flow_text(ROOT / "docs" / "operating.md")
    assert f"{KILLS['jobs']:,} kills among jobs and {KILLS['posts']:,} among posts" in result
    for target, facts in (("fuzz", ("50,000 generated requests", "ten minutes")), ("crash", ("twenty minutes",))):
        [line] = re.findall(rf"^{target}: .*$", (ROOT / "Makefile").read_text(), re.MULTILINE)
        for fact in facts:
            assert fact in line
            assert fact in flow_text(PAGE)


def test_the_readme_links_to_the_guarantees() -> None:
    assert "docs/guarantees.md" in links(ROOT / "README.md")
