"""Enforce imposed rate limits: until they end, calls of the account, or of all accounts, get 429 again."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import apsw

from postino.sandbox import responses
from postino.sandbox.calls import NOBODY
from postino.sandbox.faults import ScheduledFault
from postino.sandbox.network import Reply, SandboxNetwork
from postino.sandbox.network_state import format_instant

EVERYONE = "*"


def impose_limit(
    connection: apsw.Connection, network: SandboxNetwork, account: str, fault: ScheduledFault, now: datetime
) -> Reply:
    """Return the 429 reply and store the limit if it has an end. A caller without an account gets no limit."""
    reply = responses.build_rate_limit_reply(network, fault.params, now)
    limited = EVERYONE if fault.params.get("everyone") else account
    if reply.retry_at is not None and limited != NOBODY:
        connection.execute(
            "INSERT INTO limits VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET fault = excluded.fault,"
            " params = excluded.params, until_at = excluded.until_at WHERE excluded.until_at > until_at",
            (network.name, limited, fault.id, json.dumps(fault.params), format_instant(reply.retry_at)),
        )
    return reply


def find_refusal(connection: apsw.Connection, network: SandboxNetwork, account: str, now: datetime) -> Reply | None:
    """Return a 429 reply with the remaining time if the caller is still limited."""
    rows = connection.execute(
        "SELECT params, until_at FROM limits WHERE network = ? AND account IN (?, ?) AND until_at > ?"
        " ORDER BY until_at DESC LIMIT 1",
        (network.name, account, EVERYONE, format_instant(now)),
    )
    for params, until_at in rows:
        left = datetime.fromisoformat(until_at) - now
        return responses.build_rate_limit_reply(network, shorten_params(json.loads(params), left.total_seconds()), now)
    return None


def shorten_params(params: Mapping[str, Any], left: float) -> Mapping[str, Any]:
    """Return the parameters for the remaining time. A date that was given as text stays the same."""
    if "reset" in params:
        return {"reset": left}
    if "http_date" in params:
        return {"http_date": params["http_date"] if isinstance(params["http_date"], str) else left}
    return {"seconds": left}


def remove_limits(connection: apsw.Connection) -> None:
    """Remove the limits of faults that were removed."""
    connection.execute("DELETE FROM limits WHERE fault NOT IN (SELECT number FROM faults)")
