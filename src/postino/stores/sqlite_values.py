"""Convert between Python's values and SQLite's: instants as sortable text, lists as JSON, ids as text."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any
from uuid import UUID

IDS = frozenset({"id", "job_id", "content_id", "parent_id", "token"})
ID_LENGTH = 36
STORED_AS_THEY_ARE = frozenset({type(None), str, bytes, int, float})  # most values; a subclass takes longer
BOOLEANS = frozenset({"may_be_live", "ignore_blackouts"})


def encode_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as SQLite stores them."""
    return {name: encode_value(value) for name, value in params.items()}


def encode_value(value: Any) -> Any:
    """Return one value as SQLite stores it."""
    if type(value) in STORED_AS_THEY_ARE:
        return value
    match value:
        case str() | bytes() | int() | float():
            return value
        case datetime():
            return encode_instant(value)
        case UUID():
            return str(value)
        case list() | tuple():
            return json.dumps(value, default=encode_value)
        case _:
            raise TypeError(f"SQLite cannot store {value!r}")


def decode_row(names: tuple[str, ...], values: Sequence[Any]) -> dict[str, Any]:
    """Return a row with Python's values."""
    row = dict(zip(names, values, strict=True))
    for name, decode in choose_decoders(names):
        if row[name] is not None:
            row[name] = decode(row[name])
    return row


@cache
def choose_decoders(names: tuple[str, ...]) -> list[tuple[str, Callable[[Any], Any]]]:
    """Return the decoder of each column, chosen by its name: instants end in `_at`."""
    instants = [(name, datetime.fromisoformat) for name in names if name.endswith("_at") or name == "at"]
    ids = [(name, decode_token if name == "token" else decode_id) for name in names if name in IDS]
    truths = [(name, bool) for name in names if name in BOOLEANS]
    return [*instants, *ids, *truths]


def decode_id(text: str) -> UUID | str:
    """Return a UUID, or the text if it is none: an account id may have the same length."""
    try:
        return UUID(text) if len(text) == ID_LENGTH else text
    except ValueError:
        return text


decode_token = lru_cache(64)(decode_id)  # jobs claimed together share a token


def encode_instant(instant: datetime) -> str:
    """Return an instant as sortable text."""
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
