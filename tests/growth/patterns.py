"""Find every regular expression in the source, and how it is used."""

import ast
import importlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import regex

SOURCE = Path(__file__).parents[2] / "src"
MODULES = {"re": re, "regex": regex}
FUNCTIONS = {"search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"}
ANCHORED = {"match", "fullmatch"}  # these try one place only


@dataclass(frozen=True)
class UsedPattern:
    """A pattern, where it is, and the methods with which the source uses it. None: the source computes the pattern."""

    place: str
    expression: str
    pattern: Any
    methods: frozenset[str]

    @property
    def works(self) -> list[Callable[[str], Any]]:
        return [make_work(self.pattern, method) for method in sorted(self.methods)]


def make_work(pattern: Any, method: str) -> Callable[[str], Any]:
    """Return what applies a pattern to a text as the source does, at every place where it may begin."""
    encode = (lambda text: text.encode("utf-8", "replace")) if isinstance(pattern.pattern, bytes) else str
    if method in ANCHORED:
        return lambda text: getattr(pattern, method)(encode(text))
    return lambda text: sum(1 for _ in pattern.finditer(encode(text)))


def find_patterns() -> Iterator[UsedPattern]:
    for path in sorted(SOURCE.rglob("*.py")):
        place, tree = str(path.relative_to(SOURCE / "postino")), ast.parse(path.read_text())
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            match call.func:
                case ast.Attribute(value=ast.Name(id="re" | "regex" as library), attr="compile"):
                    yield to_pattern(place, module, call.args[0], call, find_methods(tree, call))
                case ast.Attribute(value=ast.Name(id="re" | "regex" as library), attr=method) if method in FUNCTIONS:
                    flags = next((word.value for word in call.keywords if word.arg == "flags"), None)
                    if flags is None and method in ("search", *ANCHORED) and len(call.args) == 3:
                        flags = call.args[2]
                    compiling = ast.Call(
                        ast.Attribute(ast.Name(library, ast.Load()), "compile", ast.Load()),
                        [call.args[0], *([] if flags is None else [flags])], [],
                    )  # fmt: skip
                    yield to_pattern(place, module, call.args[0], compiling, {method})


def to_pattern(place: str, module: str, argument: ast.expr, call: ast.expr, methods: set[str]) -> UsedPattern:
    """Evaluate a pattern with the names of its module; None if it depends on variables of a function."""
    expression = ast.fix_missing_locations(ast.Expression(call))
    try:
        pattern = eval(compile(expression, place, "eval"), {**MODULES, **vars(importlib.import_module(module))})
    except NameError:
        pattern = None
    return UsedPattern(place, ast.unparse(argument), pattern, frozenset(methods))


def find_methods(tree: ast.Module, call: ast.Call) -> set[str]:
    """Return the methods of a compiled pattern that its module calls; `search` if it is used in another way."""
    names = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and node.value is call
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    parents = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in names]
    methods = {getattr(parents[id(use)], "attr", "search") for use in uses if isinstance(use.ctx, ast.Load)}
    return methods & FUNCTIONS if methods and methods <= FUNCTIONS else {"search"}


def find_imports() -> Iterator[str]:
    """Yield imports that this module would overlook."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.ImportFrom(module="re" | "regex"):
                    yield f"{path.relative_to(SOURCE)}:{node.lineno}"
                case ast.Import(names=names) if any(one.name in MODULES and one.asname for one in names):
                    yield f"{path.relative_to(SOURCE)}:{node.lineno}"
