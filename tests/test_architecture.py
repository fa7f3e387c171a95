"""Architecture is a failing test: the layers, the purity of the rules, the sizes and the names of files."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "postino"

IMPURE_MODULES = {
    "aiohttp",
    "apsw",
    "asyncio",
    "asyncpg",
    "concurrent",
    "importlib",
    "io",
    "logging",
    "multiprocessing",
    "os",
    "pathlib",
    "random",
    "secrets",
    "socket",
    "sqlite3",
    "structlog",
    "subprocess",
    "sys",
    "threading",
    "time",
}
IMPURE_NAMES = {"__import__", "input", "open", "print", "uuid1", "uuid4"}
IMPURE_ATTRIBUTES = {"datetime.now", "datetime.utcnow", "datetime.today", "date.today", "uuid.uuid1", "uuid.uuid4"}

EMPTY_NAMES = {"base", "common", "core", "helper", "helpers", "manager", "managers", "util", "utils"}
LONGEST_FILE = 399
LONGEST_FACADE = 250


def modules_under(folder: Path) -> list[Path]:
    found = sorted(folder.rglob("*.py"))
    assert found, f"{folder} holds no modules: this test would prove nothing"
    return found


def lines_of(path: Path) -> int:
    return len(path.read_text().splitlines())


def impurities(source: str) -> list[str]:
    """What a module takes from the world outside its arguments, in the order of its lines."""
    return [f"line {line}: {what}" for line, what in sorted(_impurities(ast.parse(source)))]


def _impurities(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, f"import {it.name}") for it in names if _root(it.name) in IMPURE_MODULES)
            case ast.ImportFrom(module=str(module), level=0) if _root(module) in IMPURE_MODULES:
                yield node.lineno, f"from {module}"
            case ast.Name(id=name, ctx=ast.Load()) if name in IMPURE_NAMES:
                yield node.lineno, name
            case ast.Attribute() if ".".join(ast.unparse(node).split(".")[-2:]) in IMPURE_ATTRIBUTES:
                yield node.lineno, ast.unparse(node)


def _root(module: str) -> str:
    return module.partition(".")[0]


def test_imports_go_downwards_only_and_siblings_never_import_each_other() -> None:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_rules_have_no_io_clock_randomness_or_environment() -> None:
    found = {path.name: impurities(path.read_text()) for path in modules_under(SOURCE / "rules")}
    assert {name: impure for name, impure in found.items() if impure} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "import os.path",
        "from asyncio import sleep",
        "def decide():\n    import random",
        "from datetime import datetime\nstart = datetime.now()",
        "import datetime as dt\nstart = dt.datetime.now(dt.UTC)",
        "from datetime import date\nday = date.today()",
        "made = field(default_factory=datetime.utcnow)",
        "import uuid\njob_id = uuid.uuid4()",
        "from uuid import uuid4\njob_id = uuid4()",
        "open('settings')",
        "print('decided')",
    ],
)
def test_an_impure_rule_would_be_noticed(source: str) -> None:
    assert impurities(source)


@pytest.mark.parametrize("source", ["def due(job, now): return job.run_at <= now", "from datetime import datetime"])
def test_a_pure_rule_is_left_alone(source: str) -> None:
    assert impurities(source) == []


def test_no_file_grows_beyond_what_one_can_hold_in_mind() -> None:
    sizes = {str(path.relative_to(SOURCE)): lines_of(path) for path in modules_under(SOURCE)}
    assert {name: lines for name, lines in sizes.items() if lines > LONGEST_FILE} == {}


def test_the_facade_stays_thin() -> None:
    assert lines_of(SOURCE / "app.py") <= LONGEST_FACADE


def test_every_module_is_named_after_what_it_does() -> None:
    names = [path.relative_to(SOURCE) for path in modules_under(SOURCE)]
    assert [str(name) for name in names if EMPTY_NAMES.intersection(name.with_suffix("").parts)] == []
