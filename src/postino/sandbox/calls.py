"""Count the calls of each account and network, and how many were in flight at the same time."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import apsw

from postino.sandbox import call_log

NOBODY = ""  # the account of calls without a known token


class CallsInFlight:
    """Calls in flight. A call ends with its response, or when the client disconnects."""

    def __init__(self) -> None:
        self.by_account: Counter[tuple[str, str]] = Counter()
        self.by_network: Counter[str] = Counter()

    @contextmanager
    def track(self, network: str, account: str) -> Iterator[dict[str, int]]:
        """Count a call as in flight; yield the numbers of the account and of its whole network."""
        self.by_account[network, account] += 1
        self.by_network[network] += 1
        try:
            yield {account: self.by_account[network, account], "*": self.by_network[network]}
        finally:
            self.by_account[network, account] -= 1
            self.by_network[network] -= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingCall:
    """A call that arrived: when, from which account, and how many calls were in flight with it."""

    network: str
    account: str
    endpoint: str
    began_at: datetime
    in_flight: Mapping[str, int]


async def drain_disconnects() -> None:
    """Let clients that disconnected before this call end their own calls first.

    The event loop may report the new call one turn before a disconnect, and a disconnect takes two turns to arrive.
    """
    for _ in range(3):
        await asyncio.sleep(0)


def count_call(connection: apsw.Connection, arrival: IncomingCall) -> int:
    """Count a call and return its number in the call log."""
    network, account, endpoint = arrival.network, arrival.account, arrival.endpoint
    connection.execute(
        "INSERT INTO calls VALUES (?, ?, ?, 1) ON CONFLICT DO UPDATE SET calls = calls + 1",
        (network, account, endpoint),
    )
    connection.executemany(
        "INSERT INTO peaks VALUES (?, ?, ?)"
        " ON CONFLICT DO UPDATE SET max_in_flight = max(max_in_flight, excluded.max_in_flight)",
        [(network, who, in_flight) for who, in_flight in arrival.in_flight.items()],
    )
    return call_log.begin_call(connection, network, account, endpoint, arrival.began_at)


def clear(connection: apsw.Connection) -> None:
    connection.execute("DELETE FROM calls")
    connection.execute("DELETE FROM peaks")
    call_log.clear(connection)


def render(connection: apsw.Connection, in_flight: CallsInFlight) -> dict[str, Any]:
    peaks = {(network, who): most for network, who, most in connection.execute("SELECT * FROM peaks")}
    accounts: dict[tuple[str, str], dict[str, int]] = {}
    for network, who, endpoint, calls in connection.execute("SELECT * FROM calls ORDER BY 1, 2, 3"):
        accounts.setdefault((network, who), {})[endpoint] = calls
    names = dict.fromkeys(network for network, _ in accounts)
    return {
        "data": [
            {
                "network": network, "account": who or None, "calls": sum(endpoints.values()),
                "in_flight": in_flight.by_account[network, who], "max_in_flight": peaks.get((network, who), 0),
                "endpoints": endpoints,
            }
            for (network, who), endpoints in accounts.items()
        ],
        "networks": [
            {
                "network": name,
                "calls": sum(sum(done.values()) for (network, _), done in accounts.items() if network == name),
                "in_flight": in_flight.by_network[name], "max_in_flight": peaks.get((name, "*"), 0),
            }
            for name in names
        ],
    }  # fmt: skip
