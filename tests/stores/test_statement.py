"""Queries: every name has one definition per dialect, and every definition is used."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from postino.stores import audit, migrations, operations, statement
from postino.stores.statement import add_queries, load_queries

DIALECTS = ("postgres", "sqlite")
SQL = Path(statement.__file__).parent / "sql"
LACKS = {  # the queries that a dialect does not need
    "postgres": {  # a forecast runs on SQLite
        "load_jobs",
        "load_posts",
        "load_accounts",
        "load_brand_turns",
        "load_quota_usage",
    },
    "sqlite": {  # it has no transaction ids
        "find_last_foreign_event",
        "mark_foreign_cursors",
        "rebase_events",
        "release_marked_cursors",
    },
}


def operation_modules() -> list[ast.Module]:
    return [ast.parse(path.read_text()) for path in sorted(Path(operations.__file__).parent.glob("*.py"))]


def requests(function: str) -> list[tuple[str, ast.Call]]:
    """Return the calls of `ask` or `each` that name their query literally."""
    calls = [node for module in operation_modules() for node in ast.walk(module) if isinstance(node, ast.Call)]
    named = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == function]
    return [(str(call.args[0].value), call) for call in named if isinstance(call.args[0], ast.Constant)]


def list_requested_names() -> set[str]:
    return {name for function in ("ask", "each") for name, _ in requests(function)}


def list_strings() -> set[object]:
    """Return all string literals of operations: some choose a query's name before they pass it."""
    nodes = [node for module in operation_modules() for node in ast.walk(module)]
    return {node.value for node in nodes if isinstance(node, ast.Constant)}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_query_of_an_operation_is_defined_in_both_dialects(dialect: str) -> None:
    requested = list_requested_names()
    assert len(requested) > 100
    missing = {name for name in requested if name not in load_queries(dialect)}
    assert missing == LACKS[dialect]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_defined_query_is_used_by_an_operation(dialect: str) -> None:
    assert load_queries(dialect).keys() <= list_strings() | {audit.INSERT, migrations.LOCATE_UNUSED}


def test_operations_pass_the_parameters_that_their_queries_name() -> None:
    explicit = [(name, call) for name, call in requests("ask") if all(keyword.arg for keyword in call.keywords)]
    assert len(explicit) > 50
    for name, call in explicit:
        dialects = [dialect for dialect in DIALECTS if name not in LACKS[dialect]]
        named = {parameter for dialect in dialects for parameter in statement.get_statement(dialect, name).names}
        assert named - {"now"} == {keyword.arg for keyword in call.keywords}, name


def test_unknown_query_is_an_error_that_names_it() -> None:
    with pytest.raises(LookupError, match=r"No query is named 'no_such_query' in sql/shared or sql/sqlite\."):
        statement.get_statement("sqlite", "no_such_query")


def test_query_defined_twice_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sql"
    path.write_text("-- name: get_job\nSELECT 1\n\n-- name: get_job\nSELECT 2\n")
    with pytest.raises(LookupError, match=r"Query 'get_job' of sql/shared/jobs\.sql is defined twice"):
        add_queries({}, path, "sql/shared/jobs.sql")


def test_text_that_both_dialects_share_is_written_once() -> None:
    """A query that is equal in both folders belongs in shared/."""
    own = {path.name for path in (SQL / "postgres").glob("*.sql")} & {
        path.name for path in (SQL / "sqlite").glob("*.sql")
    }
    assert own
    for topic in own:
        queries: dict[str, dict[str, str]] = {}
        for dialect in DIALECTS:
            add_queries(queries.setdefault(dialect, {}), SQL / dialect / topic, topic)
        same = {name for name, text in queries["postgres"].items() if queries["sqlite"].get(name, "") == text}
        assert same == set()


def test_sql_files_are_few_and_begin_with_a_name_or_a_comment() -> None:
    paths = sorted(SQL.rglob("*.sql"))
    assert len([path for path in paths if path.parent.name != "migrations"]) <= 40
    assert {path.read_text()[:2] for path in paths} == {"--"}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("SELECT 'postino.post' FROM postino.jobs", "SELECT 'postino.post' FROM postino_jobs"),
        ("id = :id::uuid", "id = :id"),
        ("id = ANY (:ids::uuid[])", "id IN (SELECT value FROM json_each(:ids))"),
        ("id <> ALL (:ids::uuid[])", "id NOT IN (SELECT value FROM json_each(:ids))"),
        ("cardinality(:ids::uuid[]) = 0", "json_array_length(:ids) = 0"),
        (
            "at < :now - make_interval(days => :days)",
            "at < (strftime('%Y-%m-%dT%H:%M:%f', :now, '-' || (:days) || ' days') || '000Z')",
        ),
        ("FROM postino.jobs AS job\nFOR UPDATE OF job SKIP LOCKED", "FROM postino_jobs AS job"),
        ("SELECT pg_advisory_xact_lock(hashtext('postino.quota ' || :channel))", "SELECT 1"),
    ],
)
def test_sqlite_statement_is_derived_from_the_written_text(written: str, expected: str) -> None:
    assert statement.to_dialect(written, "sqlite") == expected


def test_now_is_the_time_of_the_server_on_postgres_unless_one_is_given() -> None:
    written = "SELECT :now, :now_at"
    assert statement.to_dialect(written, "postgres") == "SELECT coalesce(:now::timestamptz, now()), :now_at"
    assert statement.to_dialect(written, "sqlite") == written
