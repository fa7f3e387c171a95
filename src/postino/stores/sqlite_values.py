"""Between Python's values and SQLite's: instants as sortable texts, lists as JSON, ids as texts."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

IDS = frozenset({"id", "job_id", "parent_id", "token"})


def bound(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: encoded(value) for name, value in params.items()}


def encoded(value: Any) -> Any:
    match value:
        case None | str() | bytes() | int() | float():
            return value
        case datetime():
            return text_of(value)
        case UUID():
            return str(value)
        case list() | tuple():
            return json.dumps([encoded(item) for item in value])
        case _:
            raise TypeError(f"SQLite cannot keep {value!r}")


def decoded(names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """The names say what the texts are: instants end in `_at`."""
    row = dict(zip(names, values, strict=True))
    for name, value in row.items():
        if value is None:
            continue
        if name.endswith("_at") or name == "at":
            row[name] = datetime.fromisoformat(value)
        elif name in IDS and len(value) == 36:
            row[name] = UUID(value)
    return row


def text_of(instant: datetime) -> str:
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
