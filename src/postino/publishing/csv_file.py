"""A CSV file as spreadsheets write it, with commas or semicolons. Its lines keep their numbers."""

import csv
import difflib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from postino.values.content import Severity

COLUMNS = ("text", "title", "hashtags", "media", "accounts", "at", "timezone", "first_comment", "publish_until")
OFFERED = tuple(name for name in COLUMNS if name != "first_comment")  # it is known, and has to be empty yet
NEEDED = ("text", "accounts", "at")
SIGNS = {",": "commas", ";": "semicolons", "\t": "tabs"}
MOST_ROWS = 10_000
MOST_SHOWN = 100
MOST_COLUMNS = 100
MARKS = (b"\xff\xfe", b"\xfe\xff")
NOT_UTF8 = "This line is not UTF-8 text. Save the file as `CSV UTF-8`, and it is."
EMPTY = f"The file is empty. Its first line names the columns: {', '.join(OFFERED)}."
NO_ROWS = "The first line names the columns, and there is no post below it."
UTF16 = "The file is UTF-16. Save it as `CSV UTF-8`."


@dataclass(frozen=True, slots=True)
class CsvProblem:
    """What is wrong, where, and what would be right."""

    line: int
    column: str | None
    value: str | None
    message: str
    severity: Severity = Severity.ERROR

    @property
    def told(self) -> dict[str, Any]:
        return {
            "line": self.line,
            "column": self.column,
            "value": self.value,
            "severity": self.severity.value,
            "message": self.message,
        }


@dataclass(frozen=True, slots=True)
class CsvRow:
    """A row: the number of its first line in the file, and what its columns hold."""

    number: int
    values: Mapping[str, str]
    faults: Sequence[CsvProblem] = ()

    def fault(self, column: str, message: str, severity: Severity = Severity.ERROR) -> CsvProblem:
        value = self.values.get(column)
        return CsvProblem(self.number, column, None if value is None else sound(value)[:MOST_SHOWN], message, severity)


def read(file: bytes) -> tuple[list[CsvRow], list[CsvProblem]]:
    """All rows that say something; and what is wrong with the file as a whole, of which then nothing is read."""
    if file.startswith(MARKS):
        return [], [CsvProblem(1, None, None, UTF16)]
    text = file.removeprefix(b"\xef\xbb\xbf").decode(errors="surrogateescape")
    marked = re.match(r"sep=(.)\r?\n", text)  # a spreadsheet's own first line
    skipped = 0 if marked is None else 1
    text = text[marked.end() :] if marked else text
    head = text.partition("\n")[0]
    delimiter = marked[1] if marked else max(",;\t", key=head.count)
    rows = numbered(text, delimiter, skipped)
    first = next(rows, None)
    if first is None or isinstance(first, CsvProblem):
        return [], [first or CsvProblem(1, None, None, EMPTY)]
    if len(first[1]) > MOST_COLUMNS:
        return [], [CsvProblem(1, None, None, f"{len(first[1]):,} columns are too many. There are: {listed(OFFERED)}.")]
    names = [name.strip().lower() for name in first[1]]
    faults = [*headed(names, first[0])]
    if faults:
        return [], faults
    return lines_of(rows, names, delimiter)


def numbered(text: str, delimiter: str, skipped: int) -> Iterator[tuple[int, list[str], int] | CsvProblem]:
    """Each row with the numbers of its first and last line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    before = skipped
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield CsvProblem(
                before + 1, None, None, f"From here on the file cannot be read: {error}. Look at the quotes."
            )
            return
        first, before = before + 1, reader.line_num + skipped
        yield first, row, before


def headed(names: Sequence[str], line: int) -> Iterator[CsvProblem]:
    for name in names:
        if name not in COLUMNS:
            close = difflib.get_close_matches(name, OFFERED, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"There are: {listed(OFFERED)}."
            shown = sound(name)[:MOST_SHOWN]
            yield CsvProblem(line, shown, None, f"There is no column {shown!r}. {hint}")
    for name in sorted({name for name in names if names.count(name) > 1} & {*COLUMNS}):
        yield CsvProblem(line, name, None, f"There are two columns {name}. Leave one.")
    for name in NEEDED:
        if name not in names:
            yield CsvProblem(line, name, None, f"The column {name} is missing. It has to be there: {listed(NEEDED)}.")


def lines_of(
    rows: Iterator[tuple[int, list[str], int] | CsvProblem], names: Sequence[str], delimiter: str
) -> tuple[list[CsvRow], list[CsvProblem]]:
    lines: list[CsvRow] = []
    for row in rows:
        if isinstance(row, CsvProblem):
            return lines, [row]
        number, values, last = row
        if not any(value.strip() for value in values):
            continue
        if len(lines) == MOST_ROWS:
            return [], [
                CsvProblem(number, None, None, f"The file has more than {MOST_ROWS:,} rows. Split it into several.")
            ]
        lines.append(line_of(number, last, values, names, delimiter))
    return lines, [] if lines else [CsvProblem(1, None, None, NO_ROWS)]


def line_of(number: int, last: int, values: Sequence[str], names: Sequence[str], delimiter: str) -> CsvRow:
    faults = []
    broken = [column for column, value in zip(names, values, strict=False) if sound(value) != value]
    for column in broken:
        value = values[names.index(column)]
        at = number + value[: re.search("[\ud800-\udfff]", value).start()].count("\n")  # type: ignore[union-attr]
        faults.append(CsvProblem(min(at, last), column, sound(value)[:MOST_SHOWN], NOT_UTF8))
    if len(values) > len(names):
        told = f"This line has {len(values)} values for {len(names)} columns. Put quotes around what has"
        told += f" {SIGNS.get(delimiter, repr(delimiter))} in it."
        faults.append(CsvProblem(number, None, sound(values[len(names)])[:MOST_SHOWN], told))
    return CsvRow(number, {name: sound(value) for name, value in zip(names, values, strict=False)}, faults)


def sound(text: str) -> str:
    """With a sign in the place of what cannot be read."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def split(text: str) -> list[str]:
    """Several in one field."""
    return [part.strip() for part in re.split(r"[,;|\n]", text) if part.strip()]


def words(text: str) -> list[str]:
    return [part for part in re.split(r"[\s|]+|,\s*(?=#|https?:)", text) if part]


def listed(names: Sequence[str]) -> str:
    return ", ".join(names)
