"""How operations talk to a database without touching one.

An operation is a generator: it yields a `Query`, receives the rows, and returns its result. A driver runs it, with
`await` on PostgreSQL, in the writer's thread on SQLite, or on a caller's own connection. So every operation is written
once, and what may differ between databases is in their SQL files alone.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

Row = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Query:
    """A statement by the name of its file. With `rows` it is done for each of them, in one round trip if possible."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    rows: Sequence[Mapping[str, Any]] | None = None


Operation = Generator[Query, Sequence[Row], T]


def ask(name: str, /, **params: Any) -> Query:
    return Query(name, params)


def each(name: str, rows: Sequence[Mapping[str, Any]], /, **params: Any) -> Query:
    return Query(name, params, rows)


@dataclass(frozen=True, slots=True)
class Statement:
    """The text of one file, and the names of its parameters in order of appearance."""

    text: str
    names: tuple[str, ...]

    def numbered(self) -> str:
        """With $1, $2, … in the place of :names, as PostgreSQL's own protocol wants it."""
        return PARAMETER.sub(lambda match: f"${self.names.index(match[1]) + 1}", self.text)

    def formatted(self) -> str:
        """With %(names)s, as Python's database interface for PostgreSQL wants it."""
        return PARAMETER.sub(r"%(\1)s", self.text.replace("%", "%%"))


PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)\b")
COMMENT = re.compile(r"--[^\n]*")


@cache
def statement(dialect: str, name: str) -> Statement:
    text = (files("postino.stores") / "sql" / dialect / f"{name}.sql").read_text()
    text = COMMENT.sub("", text).strip()
    return Statement(text, tuple(dict.fromkeys(PARAMETER.findall(text))))


def columns(query: Query, names: Sequence[str]) -> list[Any]:
    """The values of a query's parameters; those of its rows as one array for each name."""
    if query.rows is None:
        return [query.params[name] for name in names]
    return [query.params[name] if name in query.params else column(query.rows, name) for name in names]


def column(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any] | None:
    return given([row[name] for row in rows])


def given(values: list[Any]) -> list[Any] | None:
    """One value of each row; nothing where all are nothing: `unnest` fills up with NULLs, at no cost for each."""
    return None if values[0] is None and values.count(None) == len(values) else values
