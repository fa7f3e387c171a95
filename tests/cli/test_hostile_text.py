"""Text of networks and users never reaches the terminal as it is: it could move the cursor or reverse the reading."""

from __future__ import annotations

import ast
import io
import json
import logging
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import structlog

from postino import Postino, Reject, Unknown, cli
from postino.cli import logs, output
from postino.publishing.post_request import PostRequest
from postino.stores.records import AttemptError
from postino.values.content import Content
from tests.cli.conftest import Postino as Command
from tests.cli.local_queue import LocalQueue
from tests.cli.terminal import run_in_terminal

TITLE = "\x1b]0;owned\x07"
HOSTILE = f"{TITLE}\x1b[2J\x1b[31m\x9b5n\x07\b\r\x7f\u202e\u2066\u200f\u061c\u2028\ufeffend"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
STYLES = re.compile(r"\x1b\[[0-9;]*m|\r\n")  # what Rich writes itself
WRITERS = {  # where the package writes to the terminal: each escapes what it writes, or writes only its own words
    "output.py": {"sys.stdout.write", "sys.stderr.write", "Console"},
    "errors.py": {"sys.stderr.write", "typer.secho"},
    "progress.py": {"sys.stderr.write"},
    "explain.py": {"Console"},
    "post_terminal_table.py": {"Console"},
    "__init__.py": {"typer.echo"},
}


def find_raw(text: str) -> list[str]:
    return RAW.findall(STYLES.sub("", text))


def test_nothing_else_writes_to_the_terminal() -> None:
    """A new writer must escape its text, and then be listed here."""
    found: dict[str, set[str]] = {}
    for path in Path(cli.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                if name in ("print", "typer.echo", "typer.secho", "click.echo") or name.endswith(
                    ("Console", "stdout.write", "stderr.write", "stdout.buffer.write")
                ):
                    found.setdefault(path.name, set()).add(name)
    assert found == WRITERS


@pytest.mark.parametrize("sign", [*map(chr, range(32)), *map(chr, range(127, 160)), *"\u061c\u202e\u2066\u2028\ufeff"])
def test_every_control_character_is_escaped(sign: str) -> None:
    escaped = output.escape_control_characters(f"a{sign}b")
    assert escaped == f"a{sign}b" if sign == "\n" else escaped.isprintable()


@pytest.fixture
def subjects(local_queue: LocalQueue) -> dict[str, str]:
    """Create jobs and posts that are hostile in every field that a user or a network fills."""
    names: dict[str, Any] = {name: f"{name}{HOSTILE}" for name in ("account", "brand", "user_id", "correlation_id")}
    trace = AttemptError(message=HOSTILE, error_class="Error", trace=f"Traceback\n{HOSTILE}")
    failed = local_queue.add_settled_job(Reject(HOSTILE), trace, channel="news", **names)
    doubtful = local_queue.add_settled_job(Unknown(HOSTILE), channel="news", **names | {"account": "other"})

    async def add_post(app: Postino) -> str:
        await app.accounts.add("bluesky", "a.example.org", {"password": "x"}, brand="acme")
        [saved] = await app.posts.schedule(
            PostRequest(content=Content(body=HOSTILE, title=None), accounts=("bluesky:a.example.org",))
        )
        await app.pause("account", "bluesky:a.example.org", reason=HOSTILE)
        return str(saved.post.job.id)

    return {"failed": str(failed.id), "doubtful": str(doubtful.id), "post": local_queue.perform(add_post)}


def list_commands(subjects: dict[str, str]) -> Iterator[list[str]]:
    post, failed, doubtful = subjects["post"], subjects["failed"], subjects["doubtful"]
    yield from (["posts", "list"], ["jobs", "list"], ["dead", "list"], ["queues", "list"], ["accounts", "list"])
    yield from (["posts", "show", post], ["posts", "explain", post])
    yield from (["jobs", "show", failed], ["jobs", "explain", failed], ["dead", "show", failed])
    yield from (["jobs", "show", doubtful], ["jobs", "explain", doubtful])
    yield ["forecast", "--until", (datetime.now(UTC) + timedelta(days=1)).isoformat()]
    yield ["post", HOSTILE, "--to", "bluesky", "--preview"]


def test_commands_print_no_raw_control_characters(subjects: dict[str, str], postino: Command) -> None:
    for words in list_commands(subjects):
        result = postino(*words)
        assert find_raw(result.out + result.err) == [], words
        plain = postino(*words, "--json")
        assert plain.out.isascii(), words
        assert find_raw(plain.out) == [], words


def test_terminal_gets_no_raw_control_characters(subjects: dict[str, str], folder: Path) -> None:
    post, failed = subjects["post"], subjects["failed"]
    commands = (["posts", "list"], ["jobs", "list"], ["jobs", "show", failed], ["posts", "explain", post])
    for words in commands:
        text = run_in_terminal(*words, "--data-dir", str(folder), COLUMNS="200")
        assert find_raw(text) == [], words
        assert "owned" in text, words


def test_errors_print_no_raw_control_characters(postino: Command) -> None:
    for words in (
        ["jobs", "show", HOSTILE],
        ["post", "x", "--to", HOSTILE],
        [HOSTILE],
        ["jobs", "list", f"--{HOSTILE}"],
    ):
        result = postino(*words)
        assert result.code
        assert find_raw(result.err) == [], words


def test_console_logs_hold_no_raw_control_characters() -> None:
    stream = io.StringIO()
    before = structlog.get_config()
    try:
        logs.configure(stream, "info", logs.console_processors())
        log = structlog.get_logger()
        log.warning(HOSTILE, error=HOSTILE, listed=[HOSTILE], line="one\ntwo")
        try:
            raise ValueError(HOSTILE)
        except ValueError:
            log.exception("failed", value={"x": HOSTILE})
    finally:
        structlog.configure(**before)
    assert find_raw(stream.getvalue()) == []
    assert "one\\ntwo" in stream.getvalue()
    assert "Traceback" in stream.getvalue()


def test_json_logs_are_ascii() -> None:
    stream = io.StringIO()
    before = structlog.get_config()
    try:
        logs.configure(stream, "info", logs.json_processors())
        structlog.get_logger().warning("failed", error=HOSTILE)
    finally:
        structlog.configure(**before)
    assert stream.getvalue().rstrip("\n").isprintable()
    assert stream.getvalue().isascii()
    assert json.loads(stream.getvalue())["error"] == HOSTILE


def test_messages_of_libraries_hold_no_raw_control_characters() -> None:
    formatter = logs.EscapingFormatter()
    try:
        raise ValueError(f"{HOSTILE} Bearer {'a1' * 20}")
    except ValueError:
        record = logging.LogRecord("asyncio", logging.ERROR, __file__, 1, HOSTILE, None, sys.exc_info())
    text = formatter.format(record)
    assert find_raw(text) == []
    assert "Bearer [secret]" in text
    logs.configure(io.StringIO(), "info", logs.json_processors())
    assert logging.lastResort is not None
    assert isinstance(logging.lastResort.formatter, logs.EscapingFormatter)
