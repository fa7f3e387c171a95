"""Queries: how operations talk to a database without touching one.

An operation is a generator: it yields a `Query`, receives the rows, and returns its result. A driver runs it, with
`await` on PostgreSQL, in the writer's thread on SQLite, or on a caller's own connection. So every operation is written
once, and only SQL differs between databases.

The SQL is in `sql/`, one file per topic, each query introduced by `-- name:`. A query that reads the same in both
dialects is in `shared/`, any other in `postgres/` and in `sqlite/`. All files are written as for PostgreSQL; these
substitutions, and no others, are made when a file is loaded:

| written                           | PostgreSQL                           | SQLite                                    |
|-----------------------------------|--------------------------------------|-------------------------------------------|
| `:now`                            | the server's time if no other is set | the machine's time, a parameter           |
| `postino.jobs`                    | the same                             | `postino_jobs`                            |
| `:id::uuid`                       | the same                             | `:id`: SQLite needs no casts              |
| `= ANY (:ids)`, `<> ALL (:ids)`   | the same                             | `IN`, `NOT IN` the elements of JSON       |
| `cardinality(:ids)`               | the same                             | `json_array_length(:ids)`                 |
| `:now + make_interval(secs => x)` | the same                             | `strftime`, which counts milliseconds     |
| `FOR UPDATE`                      | the same                             | nothing: the one writer is the lock       |
| `pg_advisory_xact_lock(…)`        | the same                             | `1`: the one writer is the lock           |
"""

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, TypeVar

Row = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Query:
    """A query by its name. With `rows` it runs for each of them, in one round trip if possible."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    rows: Sequence[Mapping[str, Any]] | None = None


Operation = Generator[Query, Sequence[Row], T]


def ask(name: str, /, **params: Any) -> Query:
    """Return a query that runs once."""
    return Query(name, params)


def each(name: str, rows: Sequence[Mapping[str, Any]], /, **params: Any) -> Query:
    """Return a query that runs for each row; parameters that all rows share are given once."""
    return Query(name, params, rows)


@dataclass(frozen=True, slots=True)
class Statement:
    """The SQL of one query in one dialect, and the names of its parameters in order of appearance."""

    text: str
    names: tuple[str, ...]

    def to_numbered(self) -> str:
        """Return the SQL with $1, $2, … for parameters, as asyncpg wants it."""
        return PARAMETER.sub(lambda match: f"${self.names.index(match[1]) + 1}", self.text)

    def to_pyformat(self) -> str:
        """Return the SQL with %(name)s for parameters, as psycopg wants it."""
        return PARAMETER.sub(r"%(\1)s", self.text.replace("%", "%%"))


PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)\b")
COMMENT = re.compile(r"--[^\n]*")
INTRODUCTION = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
MILLISECONDS = "strftime('%Y-%m-%dT%H:%M:%f', :now"
SUBSTITUTIONS: Mapping[str, Sequence[tuple[str, str]]] = {
    "postgres": [(r"(?<![:\w]):now\b", "coalesce(:now::timestamptz, now())")],
    "sqlite": [
        (r"(?<!')\bpostino\.(?=\w)", "postino_"),
        (r"::\w+(\[\])?", ""),
        (r"= ANY \((:\w+)\)", r"IN (SELECT value FROM json_each(\1))"),
        (r"<> ALL \((:\w+)\)", r"NOT IN (SELECT value FROM json_each(\1))"),
        (r"cardinality\((:\w+)\)", r"json_array_length(\1)"),
        (r":now ([+-]) make_interval\(days => ([^()]+)\)", rf"({MILLISECONDS}, '\1' || (\2) || ' days') || '000Z')"),
        (r":now ([+-]) make_interval\(secs => ([^()]+)\)", rf"({MILLISECONDS}, '\1' || (\2) || ' seconds') || '000Z')"),
        (r"\s+FOR UPDATE( OF \w+)?( SKIP LOCKED)?", ""),
        (r"pg_advisory_xact_lock(_shared)?\((?:[^()]|\([^()]*\))+\)", "1"),
    ],
}


@cache
def get_statement(dialect: str, name: str) -> Statement:
    """Return a query's statement in one dialect."""
    text = load_queries(dialect).get(name)
    if text is None:
        raise LookupError(f"No query is named {name!r} in sql/shared or sql/{dialect}.")
    text = to_dialect(COMMENT.sub("", text).strip(), dialect)
    return Statement(text, tuple(dict.fromkeys(PARAMETER.findall(text))))


def to_dialect(text: str, dialect: str) -> str:
    """Return SQL as it is written with a dialect's substitutions made."""
    for pattern, replacement in SUBSTITUTIONS[dialect]:
        text = re.sub(pattern, replacement, text)
    return text


@cache
def load_queries(dialect: str) -> Mapping[str, str]:
    """Return the text of every query of a dialect by its name, as it is written."""
    queries: dict[str, str] = {}
    for folder in ("shared", dialect):
        for path in (files("postino.stores") / "sql" / folder).iterdir():
            if path.name.endswith(".sql"):
                add_queries(queries, path, f"sql/{folder}/{path.name}")
    return queries


def add_queries(queries: dict[str, str], path: Traversable, place: str) -> None:
    """Add the queries of one file; a name that is known already is an error."""
    _, *parts = INTRODUCTION.split(path.read_text())
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        if name in queries:
            raise LookupError(f"Query {name!r} of {place} is defined twice. A query has one definition per dialect.")
        queries[name] = text


def bind_values(query: Query, names: Sequence[str]) -> list[Any]:
    """Return the values of a query's parameters; those of its rows as one array for each name."""
    if query.rows is None:
        return [query.params[name] for name in names]
    return [
        query.params[name] if name in query.params else to_array([row[name] for row in query.rows]) for name in names
    ]


def to_array(values: list[Any]) -> list[Any] | None:
    """Return one value per row, or None if all are None: `unnest` fills up with NULLs, at no cost for each row."""
    return None if values[0] is None and values.count(None) == len(values) else values
