"""docs/asvs.md has a row for each requirement of levels 1 and 2, and names tests and files that exist."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.documents import ROOT, codes, links, tables

PAGE = ROOT / "docs" / "asvs.md"
# The levels of the requirements of ASVS 5.0.0, in order, by section: V1.2.3 is the third of "1.2".
LEVELS = {
    "1.1": "22", "1.2": "1111122223", "1.3": "112222222223", "1.4": "222", "1.5": "123",
    "2.1": "122", "2.2": "112", "2.3": "12223", "2.4": "23",
    "3.1": "3", "3.2": "113", "3.3": "12223", "3.4": "11222233", "3.5": "11122333", "3.6": "3", "3.7": "22333",
    "4.1": "12233", "4.2": "23333", "4.3": "22", "4.4": "1222",
    "5.1": "2", "5.2": "112333", "5.3": "113", "5.4": "222",
    "6.1": "122", "6.2": "111111112222", "6.3": "11223333", "6.4": "112233", "6.5": "22222333", "6.6": "2223",
    "6.7": "33", "6.8": "2222",
    "7.1": "222", "7.2": "1111", "7.3": "22", "7.4": "11222", "7.5": "223", "7.6": "22",
    "8.1": "1233", "8.2": "1123", "8.3": "133", "8.4": "23",
    "9.1": "111", "9.2": "1222",
    "10.1": "22", "10.2": "223", "10.3": "22223", "10.4": "1111122222233333", "10.5": "22222", "10.6": "22",
    "10.7": "222",
    "11.1": "2233", "11.2": "22233", "11.3": "11233", "11.4": "1222", "11.5": "23", "11.6": "23", "11.7": "33",
    "12.1": "12233", "12.2": "11", "12.3": "22223",
    "13.1": "2333", "13.2": "222223", "13.3": "2233", "13.4": "1222233",
    "14.1": "22", "14.2": "12223333", "14.3": "122",
    "15.1": "12233", "15.2": "12233", "15.3": "1222222", "15.4": "3333",
    "16.1": "2", "16.2": "22222", "16.3": "2222", "16.4": "222", "16.5": "2223",
    "17.1": "23", "17.2": "22223333", "17.3": "22",
}  # fmt: skip
REASONS = ("*Does not apply*", "*Operator*", "*Not fulfilled*")
FOLDERS = ("src/", "tests/", "docs/")
FILES = ("openapi.json", "constraints.txt")


def list_requirements() -> dict[str, str]:
    """Return the level of each requirement of levels 1 and 2, by its number."""
    numbered = ((section, enumerate(levels, 1)) for section, levels in LEVELS.items())
    return {f"V{section}.{n}": level for section, some in numbered for n, level in some if level != "3"}


def list_rows() -> list[list[str]]:
    return [[*row.values()] for row in tables(PAGE, "requirement", "level", "in short", "shown by, or why not")]


def find_references(text: str) -> list[str]:
    """Return the tests and files that a text names."""
    return [code for code in codes(text) if code.startswith(FOLDERS) or code in FILES]


def test_levels_are_those_of_the_standard() -> None:
    assert Counter("".join(LEVELS.values())) == {"1": 70, "2": 183, "3": 92}
    assert {section.partition(".")[0] for section in LEVELS} == {str(chapter) for chapter in range(1, 18)}


def test_every_requirement_has_one_row_with_its_level() -> None:
    assert [(row[0], row[1]) for row in list_rows()] == [*list_requirements().items()]


@pytest.mark.parametrize("row", list_rows(), ids=lambda row: row[0])
def test_row_names_a_test_or_a_file_or_a_reason(row: list[str]) -> None:
    assert len(row) == 4
    assert find_references(row[3]) or row[3].startswith(REASONS), row
    for reason in REASONS:
        _, is_given, text = row[3].partition(reason)
        assert not is_given or len(text.strip(": ")) > 10, row


@pytest.mark.parametrize("reference", sorted({name for row in list_rows() for name in find_references(row[3])}))
def test_named_test_or_file_exists(reference: str) -> None:
    path, _, function = reference.partition("::")
    assert (ROOT / path).is_file()
    if function:
        assert re.search(rf"^(async )?def {function}\(", (ROOT / path).read_text(), re.MULTILINE)


def test_security_page_links_to_the_table() -> None:
    assert "asvs.md" in links(ROOT / "docs" / "security.md")
