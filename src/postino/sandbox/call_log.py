"""The clock of calls: when each began and ended, what was answered, and until when its caller was told to wait."""

from datetime import datetime
from typing import Any

import apsw

from postino.sandbox.network_state import instant

KEPT = 200_000
COLUMNS = ("seq", "network", "account", "endpoint", "began_at", "ended_at", "status", "retry_after_at")


def begin(connection: apsw.Connection, network: str, account: str, endpoint: str, began_at: datetime) -> int:
    """Returns its number. The oldest call makes room once there are too many."""
    seq: int = connection.execute(
        "INSERT INTO call_log (network, account, endpoint, began_at) VALUES (?, ?, ?, ?) RETURNING seq",
        (network, account, endpoint, instant(began_at)),
    ).get
    connection.execute("DELETE FROM call_log WHERE seq <= ?", (seq - KEPT,))
    return seq


def tell_to_wait(connection: apsw.Connection, seq: int, until_at: datetime) -> None:
    connection.execute("UPDATE call_log SET retry_after_at = ? WHERE seq = ?", (instant(until_at), seq))


def end(connection: apsw.Connection, seq: int, ended_at: datetime, status: int | None) -> None:
    """`status` is None where the connection was closed instead of an answer."""
    connection.execute("UPDATE call_log SET ended_at = ?, status = ? WHERE seq = ?", (instant(ended_at), status, seq))


def forget(connection: apsw.Connection) -> None:
    connection.execute("DELETE FROM call_log")


def page(
    connection: apsw.Connection, *, network: str | None, account: str | None, after: int, limit: int
) -> dict[str, Any]:
    """In the order they were taken up. `account` is empty for callers nobody knows."""
    rows = connection.execute(
        f"SELECT {', '.join(COLUMNS)} FROM call_log WHERE seq > ?1 AND (?2 IS NULL OR network = ?2)"
        " AND (?3 IS NULL OR account = ?3) ORDER BY seq LIMIT ?4",
        (after, network, account, limit),
    )
    data = [shown(dict(zip(COLUMNS, row, strict=True))) for row in rows]
    return {"data": data, "next_after": data[-1]["seq"] if data else after}


def shown(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"account": row["account"] or None}
