"""The record of what people can see. It only grows; a reset begins a new epoch of it."""

import json
from datetime import UTC, datetime
from typing import Any

import apsw

from postino.sandbox.network_state import instant

COLUMNS = (
    "number", "epoch", "network", "account", "remote_id", "kind", "title", "text", "media", "reply_to", "published_at",
)  # fmt: skip


def epoch(connection: apsw.Connection) -> int:
    number: int = connection.execute("SELECT max(number) FROM epochs").get
    return number


def begin_epoch(connection: apsw.Connection) -> int:
    connection.execute("INSERT INTO epochs VALUES (?, ?)", (epoch(connection) + 1, instant(datetime.now(UTC))))
    return epoch(connection)


def published(
    connection: apsw.Connection, *, all_epochs: bool = False, after: int = 0, network: str | None = None
) -> list[dict[str, Any]]:
    """In the order it became visible."""
    rows = connection.execute(
        f"SELECT {', '.join(COLUMNS)} FROM published WHERE number > ? AND epoch >= ? AND (?3 IS NULL OR network = ?3)"
        " ORDER BY number",
        (after, 0 if all_epochs else epoch(connection), network),
    )
    return [shown(dict(zip(COLUMNS, row, strict=True))) for row in rows]


def shown(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"media": json.loads(row["media"])}
