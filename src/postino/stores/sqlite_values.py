"""Between Python's values and SQLite's: instants as sortable texts, lists as JSON, ids as texts."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any
from uuid import UUID

IDS = frozenset({"id", "job_id", "content_id", "parent_id", "token"})
LENGTH_OF_ID = 36
TRUTHS = frozenset({"sent", "regardless"})


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
            return json.dumps(value, default=encoded)
        case _:
            raise TypeError(f"SQLite cannot keep {value!r}")


def decoded(names: tuple[str, ...], values: Sequence[Any]) -> dict[str, Any]:
    row = dict(zip(names, values, strict=True))
    for name, meant in meanings(names):
        if row[name] is not None:
            row[name] = meant(row[name])
    return row


@cache
def meanings(names: tuple[str, ...]) -> list[tuple[str, Callable[[Any], Any]]]:
    """The names say what the texts are: instants end in `_at`."""
    instants = [(name, datetime.fromisoformat) for name in names if name.endswith("_at") or name == "at"]
    ids = [(name, token_of if name == "token" else id_of) for name in names if name in IDS]
    truths = [(name, bool) for name in names if name in TRUTHS]
    return [*instants, *ids, *truths]


def id_of(text: str) -> UUID | str:
    try:
        return UUID(text) if len(text) == LENGTH_OF_ID else text
    except ValueError:
        return text  # an account's, which may be as long by chance


token_of = lru_cache(64)(id_of)  # jobs that were claimed together share theirs


def text_of(instant: datetime) -> str:
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
