"""Whatever opens or closes a gate of an account or a brand hints at its lanes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import postino.stores

FOLDER = Path(postino.stores.__file__).parent
WRITES = re.compile(r"(?:INSERT INTO|UPDATE|DELETE FROM) postino\.(?:gates|blackouts)\b")


def list_gate_statements() -> set[str]:
    """Return the names of the statements that write gates or blackouts."""
    statements = [
        statement.partition("\n")
        for path in (FOLDER / "sql").glob("*/*.sql")
        for statement in path.read_text().split("-- name: ")[1:]
    ]
    return {name.strip() for name, _, text in statements if WRITES.search(text)}


def list_functions() -> Iterator[tuple[str, str]]:
    """Yield the name and the source of each operation."""
    for path in (FOLDER / "operations").glob("*.py"):
        source = path.read_text()
        for node in ast.parse(source).body:
            if isinstance(node, ast.FunctionDef):
                yield node.name, ast.get_source_segment(source, node) or ""


def test_every_write_of_a_gate_hints_at_its_lanes() -> None:
    """A forecast fills an empty database in memory, where every lane still has a hint."""
    statements = list_gate_statements()
    assert {"open_gate", "close_gate"} <= statements
    writers = {name: source for name, source in list_functions() if any(f'"{one}"' in source for one in statements)}
    assert {"open_gate", "close_gate"} <= writers.keys()
    assert [name for name, source in writers.items() if "hint_lanes(" not in source] == ["load_forecast"]
