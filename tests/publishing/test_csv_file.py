"""CSV files as spreadsheets write them, and their problems by line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.publishing.csv_file import COLUMNS, MAX_ROWS, CsvRow, parse_csv, split_list, split_words

HEAD = "text,accounts,at\n"


def rows(file: bytes | str) -> list[CsvRow]:
    lines, faults = parse_csv(file if isinstance(file, bytes) else file.encode())
    assert faults == []
    return lines


def only_fault(file: bytes) -> tuple[int, str | None, str]:
    lines, [fault] = parse_csv(file)
    assert lines == []
    return fault.line, fault.column, fault.message


@pytest.mark.parametrize(
    "file",
    [
        'text,accounts,at\n"Hello, you",anna,2035\n',
        'text;accounts;at\r\n"Hello, you";anna;2035\r\n',
        'text\taccounts\tat\n"Hello, you"\tanna\t2035',
        'sep=;\r\ntext;accounts;at\r\n"Hello, you";anna;2035\r\n',
        '\ufefftext;accounts;at\n"Hello, you";anna;2035\n',
        ' Text , ACCOUNTS,at\n"Hello, you",anna,2035\n',
    ],
)
def test_csv_of_any_spreadsheet_is_parsed(file: str) -> None:
    [line] = rows(file)
    assert line.values == {"text": "Hello, you", "accounts": "anna", "at": "2035"}
    assert line.number == (3 if file.startswith("sep") else 2)


def test_row_has_the_number_of_its_first_line_and_empty_rows_are_skipped() -> None:
    lines = rows(HEAD + '"one\ntwo",a,b\n\n,,\nlast,a,b\n')
    assert [(line.number, line.values["text"]) for line in lines] == [(2, "one\ntwo"), (6, "last")]


def test_missing_values_at_the_end_of_a_row_are_absent() -> None:
    [line] = rows(HEAD + "text alone\n")
    assert line.values == {"text": "text alone"}


@pytest.mark.parametrize(
    ("file", "line", "column", "text"),
    [
        (b"", 1, None, "The file is empty"),
        (b"\xff\xfet\x00", 1, None, "UTF-16"),
        (b"text,accounts,at,txt\n", 1, "txt", "Did you mean text?"),
        (b"text,accounts,at,at\n", 1, "at", "column at appears twice"),
        (b"text,accounts\n", 1, "at", "The column at is missing"),
        (b'text,accounts,at\n"never closed', 2, None, "Check the quotes"),
        (HEAD.encode() + b"x,y,z\n" * (MAX_ROWS + 1), MAX_ROWS + 2, None, "more than 10,000 rows"),
    ],
)
def test_unreadable_file_is_reported_with_its_line(file: bytes, line: int, column: str, text: str) -> None:
    where, blamed, message = only_fault(file)
    assert (where, blamed) == (line, column)
    assert text in message


def test_undecodable_bytes_are_reported_by_line_and_other_rows_parsed() -> None:
    lines, faults = parse_csv(HEAD.encode() + b'good,a,b\n"one\ncaf\xe9",a,b\nfine,a,b\n')
    assert faults == []
    assert [len(line.problems) for line in lines] == [0, 1, 0]
    [fault] = lines[1].problems
    assert (fault.line, fault.column, fault.value) == (4, "text", "one\ncaf\ufffd")


def test_row_with_too_many_values_is_reported() -> None:
    [line] = rows(HEAD + "a,b,c,d\n")
    assert "4 values for 3 columns" in line.problems[0].message


def test_fields_with_several_values_are_split() -> None:
    assert split_list(" bluesky:ada.test ; mastodon:ada|telegram:x,\n") == [
        "bluesky:ada.test",
        "mastodon:ada",
        "telegram:x",
    ]
    assert split_words("#one #two") == ["#one", "#two"]
    assert split_words("https://a/b,c.png https://a/d.png") == ["https://a/b,c.png", "https://a/d.png"]
    assert split_words("") == split_list("") == []


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_parsed_or_reported(noise: bytes) -> None:
    for file in (noise, HEAD.encode() + noise):
        lines, faults = parse_csv(file)
        assert all(set(line.values) <= {*COLUMNS} for line in lines)
        assert all(fault.line >= 1 for fault in faults)
        assert all(item.encode() is not None for line in lines for item in line.values.values())
