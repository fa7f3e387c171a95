"""Limits that are meant: whoever was told to wait is refused until then, one account or everybody on a network."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import apsw

from postino.sandbox import responses
from postino.sandbox.calls import NOBODY
from postino.sandbox.faults import Fault
from postino.sandbox.network import Network, Reply
from postino.sandbox.network_state import instant

EVERYONE = "*"


def impose(connection: apsw.Connection, network: Network, account: str, fault: Fault, now: datetime) -> Reply:
    """Says so, and remembers it, if it says until when. Of callers nobody knows, none can be told from the others."""
    reply = responses.rate_limited(network, fault.params, now)
    limited = EVERYONE if fault.params.get("everyone") else account
    if reply.retry_at is not None and limited != NOBODY:
        connection.execute(
            "INSERT INTO limits VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET fault = excluded.fault,"
            " params = excluded.params, until_at = excluded.until_at WHERE excluded.until_at > until_at",
            (network.name, limited, fault.id, json.dumps(fault.params), instant(reply.retry_at)),
        )
    return reply


def refusal(connection: apsw.Connection, network: Network, account: str, now: datetime) -> Reply | None:
    """For a caller that comes too early: the same again, with what is left of the time."""
    rows = connection.execute(
        "SELECT params, until_at FROM limits WHERE network = ? AND account IN (?, ?) AND until_at > ?"
        " ORDER BY until_at DESC LIMIT 1",
        (network.name, account, EVERYONE, instant(now)),
    )
    for params, until_at in rows:
        left = datetime.fromisoformat(until_at) - now
        return responses.rate_limited(network, shortened(json.loads(params), left.total_seconds()), now)
    return None


def shortened(params: Mapping[str, Any], left: float) -> Mapping[str, Any]:
    """The same kind of hint; a date that was given as such stays as it is."""
    if "reset" in params:
        return {"reset": left}
    if "http_date" in params:
        return {"http_date": params["http_date"] if isinstance(params["http_date"], str) else left}
    return {"seconds": left}


def lift(connection: apsw.Connection) -> None:
    """Those of faults that were removed."""
    connection.execute("DELETE FROM limits WHERE fault NOT IN (SELECT number FROM faults)")
