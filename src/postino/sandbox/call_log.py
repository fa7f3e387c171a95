"""The call log: when each call began and ended, its status, and the time until which its account was limited."""

from datetime import datetime
from typing import Any

import apsw

from postino.sandbox.network_state import format_instant

KEPT = 200_000
COLUMNS = ("seq", "network", "account", "endpoint", "began_at", "ended_at", "status", "retry_after_at")


def begin_call(connection: apsw.Connection, network: str, account: str, endpoint: str, began_at: datetime) -> int:
    """Add a call and return its number. The oldest entries are deleted when there are too many."""
    seq: int = connection.execute(
        "INSERT INTO call_log (network, account, endpoint, began_at) VALUES (?, ?, ?, ?) RETURNING seq",
        (network, account, endpoint, format_instant(began_at)),
    ).get
    connection.execute("DELETE FROM call_log WHERE seq <= ?", (seq - KEPT,))
    return seq


def set_retry_after(connection: apsw.Connection, seq: int, until_at: datetime) -> None:
    connection.execute("UPDATE call_log SET retry_after_at = ? WHERE seq = ?", (format_instant(until_at), seq))


def end_call(connection: apsw.Connection, seq: int, ended_at: datetime, status: int | None) -> None:
    """Store the end of a call; `status` is None if the connection was closed without a response."""
    connection.execute(
        "UPDATE call_log SET ended_at = ?, status = ? WHERE seq = ?", (format_instant(ended_at), status, seq)
    )


def clear(connection: apsw.Connection) -> None:
    connection.execute("DELETE FROM call_log")


def list_calls(
    connection: apsw.Connection, *, network: str | None, account: str | None, after: int, limit: int
) -> dict[str, Any]:
    """Return calls in the order they began. An empty `account` selects callers without an account."""
    rows = connection.execute(
        f"SELECT {', '.join(COLUMNS)} FROM call_log WHERE seq > ?1 AND (?2 IS NULL OR network = ?2)"
        " AND (?3 IS NULL OR account = ?3) ORDER BY seq LIMIT ?4",
        (after, network, account, limit),
    )
    data = [render(dict(zip(COLUMNS, row, strict=True))) for row in rows]
    return {"data": data, "next_after": data[-1]["seq"] if data else after}


def render(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"account": row["account"] or None}
