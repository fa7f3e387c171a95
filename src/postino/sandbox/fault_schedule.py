"""Store the faults, choose those that occur in a call, and count them down in the transaction of that call."""

import json
import random
from collections.abc import Callable
from typing import Any

import apsw

from postino.sandbox import limits
from postino.sandbox.faults import ScheduledFault
from postino.sandbox.network import SandboxEndpoint

COLUMNS = "number, network, endpoint, account, fault, times, rate, params, fired"


def add_fault(connection: apsw.Connection, fault: ScheduledFault) -> ScheduledFault:
    number = connection.execute(
        "INSERT INTO faults (network, endpoint, account, fault, times, rate, params) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " RETURNING number",
        (fault.network, fault.endpoint, fault.account, fault.fault, fault.times, fault.rate, json.dumps(fault.params)),
    ).get
    return get_fault(connection, number)


def get_fault(connection: apsw.Connection, number: int) -> ScheduledFault:
    [row] = connection.execute(f"SELECT {COLUMNS} FROM faults WHERE number = ?", (number,))
    return to_fault(row)


def list_pending(connection: apsw.Connection) -> list[ScheduledFault]:
    """Return the faults that may still occur, the oldest first."""
    rows = connection.execute(f"SELECT {COLUMNS} FROM faults WHERE times IS NULL OR times > 0 ORDER BY number")
    return [to_fault(row) for row in rows]


def list_all(connection: apsw.Connection) -> list[ScheduledFault]:
    return [to_fault(row) for row in connection.execute(f"SELECT {COLUMNS} FROM faults ORDER BY number")]


def remove_faults(connection: apsw.Connection, number: int | None = None, network: str | None = None) -> int:
    """Remove one fault, those of one network, or all, with the rate limits they imposed. Return the number removed."""
    connection.execute(
        "DELETE FROM faults WHERE (?1 IS NULL OR number = ?1) AND (?2 IS NULL OR network = ?2)", (number, network)
    )
    removed = connection.changes()
    limits.remove_limits(connection)
    return removed


def draw_faults(
    connection: apsw.Connection,
    network: str,
    endpoint: SandboxEndpoint,
    account: str,
    chance: Callable[[], float] = random.random,
) -> dict[str, ScheduledFault]:
    """Choose the faults of this call, by name: one that decides the response, and those that combine with it."""
    chosen: dict[str, ScheduledFault] = {}
    decided = False
    for fault in list_pending(connection):
        taken = fault.fault in chosen if fault.kind.combines else decided
        if (
            taken
            or not fault.matches(network, endpoint, account)
            or (fault.rate is not None and chance() >= fault.rate)
        ):
            continue
        connection.execute("UPDATE faults SET times = times - 1, fired = fired + 1 WHERE number = ?", (fault.id,))
        chosen[fault.fault] = fault
        decided = decided or not fault.kind.combines
    return chosen


def to_fault(row: Any) -> ScheduledFault:
    number, network, endpoint, account, fault, times, rate, params, fired = row
    return ScheduledFault(
        id=number, network=network, endpoint=endpoint, account=account, fault=fault, times=times, rate=rate,
        params=json.loads(params), fired=fired,
    )  # fmt: skip


def render(fault: ScheduledFault) -> dict[str, Any]:
    return {
        "id": fault.id, "network": fault.network, "endpoint": fault.endpoint, "account": fault.account,
        "fault": fault.fault, "times": fault.times, "rate": fault.rate, "params": dict(fault.params),
        "fired": fault.fired,
    }  # fmt: skip
