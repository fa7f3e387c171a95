"""Docs cannot lie: what they say about the code is compared with the code, both ways, and what they show is run."""

from __future__ import annotations

import re
import tomllib
from dataclasses import MISSING, Field, fields
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

import psycopg
import pytest
import typer

from postino import config, errors
from postino.cli import cli
from postino.providers.registry import load_built_in
from postino.rules.circuit_breaker import PROFILES, BreakerPolicy
from postino.rules.lifecycle import MOVES
from postino.rules.replay import find_replay_objection
from postino.rules.retry import Exponential, RetryPolicy
from postino.rules.settlement import DeadLetterCause, settle_job
from postino.stores.migrations import load_migrations
from postino.values.event import EventType
from postino.values.job import Job, Queue, State
from postino.values.outcome import Defer, Done, Outcome, Reject, Retry, Unknown
from tests import documents
from tests.crash.points import POINTS
from tests.documents import EVERYTHING, PAGES, README, ROOT, blocks, code, codes, table

DOCS = ROOT / "docs"
LIFECYCLE, OPERATING, ARCHITECTURE = DOCS / "lifecycle.md", DOCS / "operating.md", DOCS / "architecture.md"
SOURCE = ROOT / "src" / "postino"
ALL_MOVES = {(start.value, end.value) for start, ends in MOVES.items() for end in ends}


# --- The life of a job


def test_the_docs_list_exactly_the_states() -> None:
    assert {code(row["state"]) for row in table(LIFECYCLE, "state", "meaning")} == set(State)


def test_the_diagram_shows_every_legal_move_and_no_other() -> None:
    [diagram] = blocks(LIFECYCLE, "mermaid")
    arrows = re.findall(r"^\s+(\S+) --> (\S+?)(?::|$)", diagram.text, re.MULTILINE)
    assert len(arrows) == len(set(arrows)) == diagram.text.count("-->")
    assert {arrow for arrow in arrows if "[*]" not in arrow} == ALL_MOVES
    assert [end for start, end in arrows if start == "[*]"] == ["pending"]
    final = {state.value for state, ends in MOVES.items() if not ends}
    assert {start for start, end in arrows if end == "[*]"} == final


def test_the_table_of_moves_has_every_legal_move_and_no_other() -> None:
    rows = table(LIFECYCLE, "from", "to", "who", "what is written with it")
    results = [(code(row["from"]), code(row["to"])) for row in rows]
    assert len(results) == len(set(results))
    assert set(results) == ALL_MOVES


NOW = datetime(2026, 3, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
POLICY = RetryPolicy(3, Exponential(60))
ENDINGS: dict[str, tuple[Outcome, int]] = {
    "`Done(result, remote_id)`": (Done("it", "7"), 1),
    "`Retry(reason, not_before)`": (Retry("why", LATER), 1),
    "`Retry(reason, not_before)`, last attempt": (Retry("why", LATER), 3),
    "`Defer(until, reason)`": (Defer(LATER, "why"), 1),
    "`Reject(reason, missed)`": (Reject("why"), 1),
    "`Unknown(reason, lookup_at)`": (Unknown("why"), 1),
}


def make_running_job(attempts: int) -> Job:
    return Job(
        id=UUID(int=1), type="t", channel="t", queue=Queue.DEFAULT, state=State.RUNNING, payload=b"",
        idempotency_key="1", scheduled_at=NOW, run_at=NOW, created_at=NOW, attempts=attempts,
    )  # fmt: skip


def test_the_table_of_outcomes_matches_the_settlements() -> None:
    rows = table(LIFECYCLE, "outcome", "state", "attempt", "when it runs again")
    assert [row["outcome"] for row in rows] == list(ENDINGS)
    assert {code(name).partition("(")[0] for name in ENDINGS} == {kind.__name__ for kind in get_args(Outcome)}
    for name, (outcome, _) in ENDINGS.items():
        assert code(name) == f"{type(outcome).__name__}({', '.join(entry.name for entry in fields(outcome))})"
    for row in rows:
        outcome, attempts = ENDINGS[row["outcome"]]
        decided = settle_job(make_running_job(attempts), outcome, POLICY, NOW, jitter=0)
        result = codes(row["state"])
        assert result == [decided.state] + ([decided.cause] if decided.cause else []), row
        assert row["attempt"] == ("given back" if decided.refund else "spent"), row
        assert (decided.run_at == LATER) == (result == ["pending"]), row


def test_the_docs_list_the_causes_of_dead_letters_and_their_replay() -> None:
    letters = table(LIFECYCLE, "cause", "meaning", "replay as it is?")
    rows = {code(row["cause"]): row["replay as it is?"] for row in letters}
    assert set(rows) == set(DeadLetterCause)
    for cause in DeadLetterCause:
        assert (rows[cause] == "yes") == (find_replay_objection(cause, edited=False, force=False) is None), cause
        assert find_replay_objection(cause, edited=True, force=False) is None
        assert find_replay_objection(cause, edited=False, force=True) is None


def test_the_docs_list_exactly_the_events() -> None:
    rows = table(LIFECYCLE, "event", "written when", "data", "name in other systems")
    assert [code(row["event"]) for row in rows if row["event"] != "not emitted yet"] == list(EventType)


# --- Settings, logs, exit codes


def format_default(entry: Field[Any]) -> str:
    value = entry.default_factory() if entry.default_factory is not MISSING else entry.default
    return "" if value is None else f"`{value}`".replace("'", '"') if value != "" else '`""`'


def list_settings() -> dict[str, tuple[str, str]]:
    """Return environment variable and default of each setting, as the table shows them."""
    known = {
        f"{section}.{entry.name}": (f"`POSTINO_{section}_{entry.name}`".upper(), format_default(entry))
        for section, values in config.SECTIONS.items()
        for entry in fields(values)
    }
    return known | {
        f"channels.NAME.{entry.name}": ("", format_default(entry)) for entry in fields(config.ChannelConfig)
    }


def test_the_docs_list_every_setting_with_variable_and_default() -> None:
    rows = table(OPERATING, "setting", "environment", "default", "meaning")
    assert {code(row["setting"]): (row["environment"], row["default"]) for row in rows} == list_settings()
    for name in config.NOT_SETTINGS:
        assert f"`{name}`" in documents.flow_text(OPERATING)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_settings_file_shown_can_be_loaded(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "toml"):
        (tmp_path / "postino.toml").write_text(block.text)
        assert tomllib.loads(block.text)
        config.load_config(tmp_path, environment={})


def test_every_line_the_engine_logs_is_explained_and_no_other() -> None:
    logged = (
        {
            name
            for path in SOURCE.rglob("*.py")
            if "structlog.get_logger" in path.read_text()
            for name in re.findall(r"\"((?!postino)[a-z_]+\.[a-z_]+)\"", path.read_text())
        }
        - set(POINTS)
        - set(list_settings())
    )
    assert {code(row["log"]) for row in table(OPERATING, "log", "meaning")} == logged


def test_the_documented_exit_codes_match_the_code() -> None:
    rows = {int(row["exit code"]): row["meaning"] for row in table(OPERATING, "exit code", "meaning")}
    refusals = (errors.PostinoError, errors.WrongUse, errors.NotFound, errors.Conflict, errors.StoreError)
    codes_used = [vars(refusal)["exit_code"] for refusal in refusals]
    assert list(rows) == [0, *codes_used]


def test_the_documented_quarantine_of_telegram_matches_the_code() -> None:
    telegram = load_built_in().providers["telegram"]
    longest = timedelta(seconds=config.PublishingConfig().send_within) + telegram.timeout + telegram.listing_delay
    assert f"For Telegram, this wait ends {longest.seconds} seconds after" in documents.flow_text(OPERATING)


def describe_profile(policy: BreakerPolicy) -> list[str]:
    failures = "in a row" if policy.consecutive else f"within {policy.window.total_seconds():g} s"
    periods = [f"{period.total_seconds():g} s" for period in (policy.open_timeout, policy.max_open_timeout)]
    return [f"{policy.failure_threshold} {failures}", *periods, f"{policy.half_open_max_attempts}"]


def test_the_documented_circuit_profiles_match_the_code() -> None:
    columns = ("failures that open a circuit", "first open period", "longest open period", "probes at once")
    rows = {code(row["profile"]): row for row in table(OPERATING, "profile", *columns)}
    assert {name: [row[column] for column in columns] for name, row in rows.items()} == {
        name: describe_profile(policy) for name, policy in PROFILES.items()
    }


# --- Architecture


def test_the_table_of_packages_lists_every_package_that_exists() -> None:
    shown = [name for row in table(ARCHITECTURE, "package", "what it holds") for name in codes(row["package"])]
    paths = [name if name.startswith("src/") else f"src/postino/{name}" for name in shown]
    assert [path for path in paths if not (ROOT / path).exists()] == []
    packages = {
        path for path in SOURCE.iterdir() if not path.name.startswith(("_", ".")) and path.suffix in ("", ".py")
    }
    assert {path.resolve() for path in map(ROOT.joinpath, paths)} == {path.resolve() for path in packages}


def test_the_excerpt_of_the_store_matches_the_code() -> None:
    [excerpt] = [block for block in blocks(ARCHITECTURE, "text") if block.text.startswith("class Store")]
    source = (SOURCE / "stores" / "store.py").read_text().splitlines()
    assert [line for line in excerpt.text.splitlines()[1:] if line not in source] == []


def test_the_tables_are_those_the_migrations_make() -> None:
    rows = table(ARCHITECTURE, "table", "what it holds, and why it is a separate table")
    results = {name for row in rows for name in codes(row["table"])}
    for dialect, prefix in (("postgres", r"postino\."), ("sqlite", "postino_")):
        made: set[str] = set()
        for step in load_migrations(dialect):
            made |= set(re.findall(rf"CREATE TABLE {prefix}(\w+)", step.sql))
            made -= set(re.findall(rf"DROP TABLE {prefix}(\w+)", step.sql))
            for old, new in re.findall(rf"ALTER TABLE {prefix}(\w+) RENAME TO {prefix}(\w+)", step.sql):
                made = made - {old} | {new}
        assert results == made | {"migrations"}, dialect


def test_the_glossary_explains_our_own_terms() -> None:
    results = {word for row in table(DOCS / "glossary.md", "word", "meaning") for word in row["word"].split(", ")}
    words = (
        "job post account content lane hint gate outcome step intent receipt event channel queue claim lease network "
        "ledger uncertain quarantine rescue duty blackout sandbox vault lookup duplicate heartbeat attempt"
    )
    assert set(words.split()) <= results


# --- Commands


@cache
def typer_commands() -> dict[str, Any]:
    """Return the commands by their words, without hidden ones."""

    def under(command: Any, path: str) -> dict[str, Any]:
        if not hasattr(command, "commands"):
            return {path: command}
        body: dict[str, Any] = {}
        for name, child in command.commands.items():
            if not child.hidden:
                body |= under(child, f"{path} {name}".strip())
        return body

    return under(typer.main.get_command(cli), "")


def find_commands(text: str) -> set[str]:
    """Return the commands that are named in `code` or shown in blocks."""
    return {words.strip() for words in re.findall(r"(?<![\w/.-])postino((?: [a-z][a-z-]*)+)", text)}


def test_every_command_is_documented() -> None:
    results = [name for row in table(OPERATING, "command", "what it does") for name in codes(row["command"])]
    assert {name.removeprefix("postino ") for name in results} == set(typer_commands())


@pytest.mark.parametrize("page", EVERYTHING, ids=lambda page: page.name)
def test_every_command_that_is_named_exists(page: Path) -> None:
    known = set(typer_commands())
    groups = {name.partition(" ")[0] for name in known if " " in name}
    shown = "\n".join([*codes(documents.prose(page)), *(line for block in blocks(page) for line in block.commands)])
    for words in find_commands(shown):
        first, *rest = words.split()
        wanted = f"{first} {rest[0]}" if first in groups and rest else first
        assert wanted in known | groups, f"{page.name}: postino {words}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_option_that_is_shown_exists(page: Path) -> None:
    for command, options in list_shown_options(page):
        known = {name for parameter in typer_commands()[command].params for name in parameter.opts}
        assert set(options) <= known | {"--help"}, f"{page.name}: postino {command} {options}"


def list_shown_options(page: Path) -> list[tuple[str, list[str]]]:
    lines = [line for block in blocks(page) for line in block.commands] + codes(documents.prose(page))
    results = []
    for line in lines:
        for command in sorted(typer_commands(), key=len, reverse=True):
            if re.match(rf"(\S*/)?postino {command}\b", line):
                results.append((command, re.findall(r"(?<=\s)--[a-z-]+", line)))
                break
    return results


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in EVERYTHING:
        assert set(re.findall(r"(?:`|\$ )make ([a-z-]+)", page.read_text())) <= targets, page.name


# --- Lines and links


@pytest.mark.parametrize("page", [*EVERYTHING, ROOT / "benchmarks" / "README.md"], ids=lambda page: page.name)
def test_lines_of_prose_have_at_most_120_characters(page: Path) -> None:
    lines = documents.prose(page).splitlines()
    assert [line for line in lines if len(line) > 120 and not line.startswith(("|", "!["))] == []


@pytest.mark.parametrize("page", EVERYTHING, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_resolves(page: Path) -> None:
    for link in documents.links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {link}"
        if anchor:
            assert anchor in documents.anchors(target), f"{page.name}: {link}"


def test_every_page_is_linked_from_the_readme() -> None:
    linked = {(ROOT / link.partition("#")[0]).resolve() for link in documents.links(README)}
    assert {page.resolve() for page in EVERYTHING} - {README} <= linked


def test_every_documented_query_runs(postgres_url: str) -> None:
    queries = [query for page in PAGES for query in blocks(page, "sql")]
    assert queries
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for step in load_migrations("postgres"):
            connection.execute(step.sql.encode())
        for query in queries:
            connection.execute(query.text.encode())
