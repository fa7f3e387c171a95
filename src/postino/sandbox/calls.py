"""How often each account asked its network, and how many of its calls were under way at the same time."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import apsw

from postino.sandbox import call_log

NOBODY = ""  # calls without a token that is known


class Flights:
    """Calls under way. A call ends with its answer, or when the caller stops waiting for one."""

    def __init__(self) -> None:
        self.by_account: Counter[tuple[str, str]] = Counter()
        self.by_network: Counter[str] = Counter()

    @contextmanager
    def one(self, network: str, account: str) -> Iterator[dict[str, int]]:
        """How many there are now, of the account and of everybody on its network."""
        self.by_account[network, account] += 1
        self.by_network[network] += 1
        try:
            yield {account: self.by_account[network, account], "*": self.by_network[network]}
        finally:
            self.by_account[network, account] -= 1
            self.by_network[network] -= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A call that came: when, from whom, and how many were under way then, with it."""

    network: str
    account: str
    endpoint: str
    began_at: datetime
    flying: Mapping[str, int]


async def departures() -> None:
    """Whoever hung up before a call came is no longer counted by the time this returns.

    The loop may hear of the call first, by a turn; and a connection's end takes two to reach its own call.
    """
    for _ in range(3):
        await asyncio.sleep(0)


def count(connection: apsw.Connection, arrival: Arrival) -> int:
    """Returns its number in the clock of calls."""
    network, account, endpoint = arrival.network, arrival.account, arrival.endpoint
    connection.execute(
        "INSERT INTO calls VALUES (?, ?, ?, 1) ON CONFLICT DO UPDATE SET calls = calls + 1",
        (network, account, endpoint),
    )
    connection.executemany(
        "INSERT INTO peaks VALUES (?, ?, ?)"
        " ON CONFLICT DO UPDATE SET most_in_flight = max(most_in_flight, excluded.most_in_flight)",
        [(network, who, flying) for who, flying in arrival.flying.items()],
    )
    return call_log.begin(connection, network, account, endpoint, arrival.began_at)


def forget(connection: apsw.Connection) -> None:
    connection.execute("DELETE FROM calls")
    connection.execute("DELETE FROM peaks")
    call_log.forget(connection)


def shown(connection: apsw.Connection, flights: Flights) -> dict[str, Any]:
    peaks = {(network, who): most for network, who, most in connection.execute("SELECT * FROM peaks")}
    accounts: dict[tuple[str, str], dict[str, int]] = {}
    for network, who, endpoint, calls in connection.execute("SELECT * FROM calls ORDER BY 1, 2, 3"):
        accounts.setdefault((network, who), {})[endpoint] = calls
    names = dict.fromkeys(network for network, _ in accounts)
    return {
        "data": [
            {
                "network": network, "account": who or None, "calls": sum(endpoints.values()),
                "in_flight": flights.by_account[network, who], "most_in_flight": peaks.get((network, who), 0),
                "endpoints": endpoints,
            }
            for (network, who), endpoints in accounts.items()
        ],
        "networks": [
            {
                "network": name,
                "calls": sum(sum(done.values()) for (network, _), done in accounts.items() if network == name),
                "in_flight": flights.by_network[name], "most_in_flight": peaks.get((name, "*"), 0),
            }
            for name in names
        ],
    }  # fmt: skip
