"""Parse a CSV file as spreadsheets write it, with commas, semicolons or tabs. Problems name their line and column."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from postino.values.content import Severity
from postino.values.suggestions import suggest_name

COLUMNS = ("text", "title", "hashtags", "media", "accounts", "at", "timezone", "first_comment", "publish_until")
OFFERED = tuple(name for name in COLUMNS if name != "first_comment")  # not supported yet: it has to be empty
REQUIRED = ("text", "accounts", "at")
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
MAX_ROWS = 10_000
MAX_EXCERPT = 100  # characters of a value that a message repeats
MAX_COLUMNS = 100
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
NOT_UTF8 = "This line is not UTF-8 text. Save the file as `CSV UTF-8`."
EMPTY = f"The file is empty. Its first line names the columns: {', '.join(OFFERED)}."
NO_ROWS = "The first line names the columns, and there is no post below it."
UTF16 = "The file is UTF-16. Save it as `CSV UTF-8`."
Record = tuple[int, list[str], int]  # first line, values, last line


@dataclass(frozen=True, slots=True)
class CsvProblem:
    """A problem in a file: where it is, and how to correct it."""

    line: int
    column: str | None
    value: str | None
    message: str
    severity: Severity = Severity.ERROR

    def to_dict(self) -> dict[str, Any]:
        return {
            "line": self.line,
            "column": self.column,
            "value": self.value,
            "severity": self.severity.value,
            "message": self.message,
        }


@dataclass(frozen=True, slots=True)
class CsvRow:
    """A row of the file: the number of its first line, and its values by column."""

    number: int
    values: Mapping[str, str]
    problems: Sequence[CsvProblem] = ()

    def report(self, column: str, message: str, severity: Severity = Severity.ERROR) -> CsvProblem:
        """Return a problem in this column."""
        value = self.values.get(column)
        return CsvProblem(self.number, column, None if value is None else make_excerpt(value), message, severity)


def parse_csv(file: bytes) -> tuple[list[CsvRow], list[CsvProblem]]:
    """Return all rows that are not empty. If the file as a whole has problems, return those instead of rows."""
    if file.startswith(UTF16_MARKS):
        return [], [CsvProblem(1, None, None, UTF16)]
    text = file.removeprefix(b"\xef\xbb\xbf").decode(errors="surrogateescape")
    marked = re.match(r"sep=(.)\r?\n", text)  # Excel writes its delimiter into a first line of its own
    skipped = 0 if marked is None else 1
    text = text[marked.end() :] if marked else text
    head = text.partition("\n")[0]
    delimiter = marked[1] if marked else max(DELIMITERS, key=head.count)
    records = read_records(text, delimiter, skipped)
    first = next(records, None)
    if first is None or isinstance(first, CsvProblem):
        return [], [first or CsvProblem(1, None, None, EMPTY)]
    if len(first[1]) > MAX_COLUMNS:
        message = f"The file has {len(first[1]):,} columns. Use only these: {', '.join(OFFERED)}."
        return [], [CsvProblem(1, None, None, message)]
    names = [name.strip().lower() for name in first[1]]
    problems = [*check_header(names, first[0])]
    if problems:
        return [], problems
    return parse_rows(records, names, delimiter)


def read_records(text: str, delimiter: str, skipped: int) -> Iterator[Record | CsvProblem]:
    """Yield each record with the numbers of its first and last line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    before = skipped
    while True:
        try:
            values = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            message = f"The file cannot be read from here on: {error}. Check the quotes."
            yield CsvProblem(before + 1, None, None, message)
            return
        first, before = before + 1, reader.line_num + skipped
        yield first, values, before


def check_header(names: Sequence[str], line: int) -> Iterator[CsvProblem]:
    for name in names:
        if name not in COLUMNS:
            hint = suggest_name(name, OFFERED)
            excerpt = make_excerpt(name)
            yield CsvProblem(line, excerpt, None, f"There is no column {excerpt!r}. {hint}")
    for name in sorted({name for name in names if names.count(name) > 1} & {*COLUMNS}):
        yield CsvProblem(line, name, None, f"The column {name} appears twice. Remove one.")
    for name in REQUIRED:
        if name not in names:
            message = f"The column {name} is missing. Required columns: {', '.join(REQUIRED)}."
            yield CsvProblem(line, name, None, message)


def parse_rows(
    records: Iterator[Record | CsvProblem], names: Sequence[str], delimiter: str
) -> tuple[list[CsvRow], list[CsvProblem]]:
    rows: list[CsvRow] = []
    for record in records:
        if isinstance(record, CsvProblem):
            return rows, [record]
        number, values, last = record
        if not any(value.strip() for value in values):
            continue
        if len(rows) == MAX_ROWS:
            message = f"The file has more than {MAX_ROWS:,} rows. Split it into several files."
            return [], [CsvProblem(number, None, None, message)]
        rows.append(parse_row(number, last, values, names, delimiter))
    return rows, [] if rows else [CsvProblem(1, None, None, NO_ROWS)]


def parse_row(number: int, last: int, values: Sequence[str], names: Sequence[str], delimiter: str) -> CsvRow:
    problems = []
    undecodable = [column for column, value in zip(names, values, strict=False) if replace_undecodable(value) != value]
    for column in undecodable:
        value = values[names.index(column)]
        at = number + value[: re.search("[\ud800-\udfff]", value).start()].count("\n")  # type: ignore[union-attr]
        problems.append(CsvProblem(min(at, last), column, make_excerpt(value), NOT_UTF8))
    if len(values) > len(names):
        message = f"This line has {len(values)} values for {len(names)} columns. Put quotes around values that contain"
        message += f" {DELIMITERS.get(delimiter, repr(delimiter))}."
        problems.append(CsvProblem(number, None, make_excerpt(values[len(names)]), message))
    decoded = {name: replace_undecodable(value) for name, value in zip(names, values, strict=False)}
    return CsvRow(number, decoded, problems)


def replace_undecodable(text: str) -> str:
    """Return the text with U+FFFD in place of bytes that are not UTF-8."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def make_excerpt(value: str) -> str:
    return replace_undecodable(value)[:MAX_EXCERPT]


def split_list(text: str) -> list[str]:
    """Split a field with several names, separated by commas, semicolons, bars or new lines."""
    return [part.strip() for part in re.split(r"[,;|\n]", text) if part.strip()]


def split_words(text: str) -> list[str]:
    """Split a field with several hashtags or URLs, which may contain commas themselves."""
    return [part for part in re.split(r"[\s|]+|,\s*(?=#|https?:)", text) if part]
