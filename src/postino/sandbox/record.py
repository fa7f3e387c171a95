"""The record of published posts. It is append-only; a reset begins a new epoch."""

import json
from datetime import UTC, datetime
from typing import Any

import apsw

from postino.sandbox.network_state import format_instant

COLUMNS = (
    "number", "epoch", "network", "account", "remote_id", "kind", "title", "text", "media", "reply_to", "published_at",
)  # fmt: skip


def get_epoch(connection: apsw.Connection) -> int:
    number: int = connection.execute("SELECT max(number) FROM epochs").get
    return number


def begin_epoch(connection: apsw.Connection) -> int:
    connection.execute(
        "INSERT INTO epochs VALUES (?, ?)", (get_epoch(connection) + 1, format_instant(datetime.now(UTC)))
    )
    return get_epoch(connection)


def list_published(
    connection: apsw.Connection, *, all_epochs: bool = False, after: int = 0, network: str | None = None
) -> list[dict[str, Any]]:
    """Return the published posts in order."""
    rows = connection.execute(
        f"SELECT {', '.join(COLUMNS)} FROM published WHERE number > ? AND epoch >= ? AND (?3 IS NULL OR network = ?3)"
        " ORDER BY number",
        (after, 0 if all_epochs else get_epoch(connection), network),
    )
    return [render(dict(zip(COLUMNS, row, strict=True))) for row in rows]


def render(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"media": json.loads(row["media"])}
