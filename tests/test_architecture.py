"""The architecture as failing tests: layers, purity of the rules, sizes of files, and names."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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

SYSTEM_CLOCKS = {
    "datetime.now", "time.clock_gettime", "time.monotonic", "time.time", "time.time_ns", "uuid.uuid4", "os.urandom",
    "random.random",
}  # fmt: skip
EMPTY_NAMES = {"base", "common", "core", "helper", "helpers", "manager", "managers", "util", "utils"}
MAX_LINES = 399
MAX_FACADE_LINES = 250

# Class names with more than one definition, each with its reason. At most ten.
REUSED_CLASS_NAMES = {
    "Call": "the contract, and the engine's implementation that programs import",
    "NotFound": "the error, and a network's result of a lookup: both are settled interfaces",
}
MAX_REUSED_CLASS_NAMES = 10

# A function is named by a verb: not by a participle (`judged`), nor by a noun with `_of` (`status_of`).
PARTICIPLES = {
    "asked", "bound", "done", "drawn", "found", "given", "gone", "heard", "held", "kept", "known", "led", "left",
    "made",
    "ours", "own", "said", "seen", "sent", "shown", "shut", "spent", "taken", "theirs", "told", "written",
}  # fmt: skip
VERBS = {"bring", "embed", "exceed", "feed", "need", "ping", "ring", "seed", "shed", "speed", "string"}
MAX_ODD_SHARE = 0.03
MAX_TEST_NAME = 80


def list_modules(folder: Path) -> list[Path]:
    modules = sorted(folder.rglob("*.py"))
    assert modules, f"{folder} holds no modules: this test would prove nothing"
    return modules


def count_lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def find_impurities(source: str) -> list[str]:
    """Return what a module takes from outside its arguments, in the order of its lines."""
    return [f"line {line}: {what}" for line, what in sorted(_walk_impurities(ast.parse(source)))]


def _walk_impurities(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, f"import {it.name}") for it in names if _get_root(it.name) in IMPURE_MODULES)
            case ast.ImportFrom(module=str(module), level=0) if _get_root(module) in IMPURE_MODULES:
                yield node.lineno, f"from {module}"
            case ast.Name(id=name, ctx=ast.Load()) if name in IMPURE_NAMES:
                yield node.lineno, name
            case ast.Attribute() if ".".join(ast.unparse(node).split(".")[-2:]) in IMPURE_ATTRIBUTES:
                yield node.lineno, ast.unparse(node)


def _get_root(module: str) -> str:
    return module.partition(".")[0]


def find_classes() -> dict[str, list[str]]:
    """Return every class name with the modules that define it, nested and conditional definitions included."""
    classes: dict[str, list[str]] = defaultdict(list)
    for path in list_modules(SOURCE):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(str(path.relative_to(SOURCE)))
    return classes


def is_odd(name: str) -> bool:
    """Return whether a function name is a participle or ends with `_of`."""
    first = name.strip("_").split("_")[0]
    is_participle = first in PARTICIPLES or (first.endswith(("ed", "ing")) and first not in VERBS)
    return is_participle or name.endswith("_of") or name.strip("_").startswith("of_")


def list_functions() -> list[str]:
    """Return the names of all functions and methods, nested ones included; properties and dunders are not verbs."""
    names = []
    for path in list_modules(SOURCE):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__"):
                decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
                if not decorators & {"property", "cached_property"}:
                    names.append(node.name)
    return names


def test_imports_go_downwards_only() -> None:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_package_has_a_layer() -> None:
    contract = read_layers()
    assert contract["exhaustive"] is True
    assert contract["exhaustive_ignores"] == ["__main__"]


def test_the_layers_in_the_docs_are_those_in_pyproject() -> None:
    contract = read_layers()
    text = (ROOT / "docs" / "architecture.md").read_text()
    picture = re.search(r"<!-- not run: a picture of the layers[^\n]*-->\n```text\n(.*?)\n```", text, re.DOTALL)
    assert picture is not None, "docs/architecture.md shows no picture of the layers"
    # Parentheses mean that a package may be missing, which readers need not know.
    assert picture[1].splitlines() == [re.sub(r"[()]", "", layer) for layer in contract["layers"]]


def read_layers() -> dict[str, Any]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts: list[dict[str, Any]] = settings["tool"]["importlinter"]["contracts"]
    [layers] = [contract for contract in contracts if contract["type"] == "layers"]
    return layers


def test_rules_have_no_io_clock_randomness_or_environment() -> None:
    impurities = {path.name: find_impurities(path.read_text()) for path in list_modules(SOURCE / "rules")}
    assert {name: lines for name, lines in impurities.items() if lines} == {}


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
def test_an_impure_rule_is_detected(source: str) -> None:
    assert find_impurities(source)


@pytest.mark.parametrize("source", ["def due(job, now): return job.run_at <= now", "from datetime import datetime"])
def test_a_pure_rule_is_accepted(source: str) -> None:
    assert find_impurities(source) == []


def test_no_file_has_400_lines() -> None:
    sizes = {str(path.relative_to(SOURCE)): count_lines(path) for path in list_modules(SOURCE)}
    assert {name: lines for name, lines in sizes.items() if lines > MAX_LINES} == {}


def test_the_facade_stays_thin() -> None:
    assert count_lines(SOURCE / "app.py") <= MAX_FACADE_LINES


def test_no_module_has_an_empty_name() -> None:
    names = [path.relative_to(SOURCE) for path in list_modules(SOURCE)]
    assert [str(name) for name in names if EMPTY_NAMES.intersection(name.with_suffix("").parts)] == []


def test_a_class_name_has_one_definition() -> None:
    reused = {name: modules for name, modules in find_classes().items() if len(modules) > 1}
    assert {name: modules for name, modules in reused.items() if name not in REUSED_CLASS_NAMES} == {}
    assert sorted(REUSED_CLASS_NAMES.keys() - reused.keys()) == [], "no longer reused: remove them from the list"
    assert len(REUSED_CLASS_NAMES) <= MAX_REUSED_CLASS_NAMES


def test_functions_are_named_by_verbs() -> None:
    names = list_functions()
    odd = sorted(name for name in names if is_odd(name))
    assert len(odd) < MAX_ODD_SHARE * len(names), odd


def test_names_of_tests_have_at_most_80_characters() -> None:
    names = [name for path in list_modules(ROOT / "tests") for name in re.findall(r"def (test_\w+)", path.read_text())]
    assert [name for name in names if len(name) > MAX_TEST_NAME] == []


@pytest.mark.parametrize("folder", ["src", "tests"])
def test_no_variable_is_named_told_or_said(folder: str) -> None:
    """A name says what the value is: a message, a body, rows."""
    stored = re.compile(r"\b(?:told|said)\b(?:: [\w\[\] |.]+)? (?::=|=) |def .*\b(?:told|said)[:,(]")
    found = {str(path): stored.findall(path.read_text()) for path in list_modules(ROOT / folder)}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize("name", ["judged", "told_of_gate", "status_of", "_listed", "of_kind", "taken", "counting"])
def test_an_odd_function_name_is_detected(name: str) -> None:
    assert is_odd(name)


@pytest.mark.parametrize("name", ["parse_time", "is_closed", "to_gate", "seed_accounts", "ping", "bring_up"])
def test_a_verb_is_accepted_as_function_name(name: str) -> None:
    assert not is_odd(name)


@pytest.mark.parametrize("package", ["engine", "providers", "publishing", "stores", "values", "wakeups"])
def test_clocks_and_randomness_come_from_one_module(package: str) -> None:
    # These limit how long a statement blocks its thread, and how long a thread waits for a lock.
    threads = {SOURCE / "stores" / "sqlite_thread.py", SOURCE / "stores" / "sqlite_waits.py"}
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in list_modules(SOURCE / package)
        if path not in threads
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in SYSTEM_CLOCKS
    ]
    assert not found, "Use postino.clock instead, so that a simulation can replace it"
