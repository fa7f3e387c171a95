"""Which faults are due: kept on disk, and counted down in the transaction of the call they hit."""

import json
import random
from collections.abc import Callable
from typing import Any

import apsw

from postino.sandbox import limits
from postino.sandbox.faults import Fault
from postino.sandbox.network import Endpoint

COLUMNS = "number, network, endpoint, account, fault, times, rate, params, fired"


def add(connection: apsw.Connection, fault: Fault) -> Fault:
    number = connection.execute(
        "INSERT INTO faults (network, endpoint, account, fault, times, rate, params) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " RETURNING number",
        (fault.network, fault.endpoint, fault.account, fault.fault, fault.times, fault.rate, json.dumps(fault.params)),
    ).get
    return by_number(connection, number)


def by_number(connection: apsw.Connection, number: int) -> Fault:
    [row] = connection.execute(f"SELECT {COLUMNS} FROM faults WHERE number = ?", (number,))
    return fault_of(row)


def waiting(connection: apsw.Connection) -> list[Fault]:
    """Those that may still hit, the oldest first."""
    rows = connection.execute(f"SELECT {COLUMNS} FROM faults WHERE times IS NULL OR times > 0 ORDER BY number")
    return [fault_of(row) for row in rows]


def every(connection: apsw.Connection) -> list[Fault]:
    return [fault_of(row) for row in connection.execute(f"SELECT {COLUMNS} FROM faults ORDER BY number")]


def remove(connection: apsw.Connection, number: int | None = None, network: str | None = None) -> int:
    """One, those of one network, or all; the limits they have set end with them. Returns how many there were."""
    connection.execute(
        "DELETE FROM faults WHERE (?1 IS NULL OR number = ?1) AND (?2 IS NULL OR network = ?2)", (number, network)
    )
    removed = connection.changes()
    limits.lift(connection)
    return removed


def strike(
    connection: apsw.Connection,
    network: str,
    endpoint: Endpoint,
    account: str,
    chance: Callable[[], float] = random.random,
) -> dict[str, Fault]:
    """What befalls this call, by name: one fault at most decides the answer, others go together with it."""
    struck: dict[str, Fault] = {}
    decided = False
    for fault in waiting(connection):
        taken = fault.fault in struck if fault.kind.together else decided
        if taken or not fault.hits(network, endpoint, account) or (fault.rate is not None and chance() >= fault.rate):
            continue
        connection.execute("UPDATE faults SET times = times - 1, fired = fired + 1 WHERE number = ?", (fault.id,))
        struck[fault.fault] = fault
        decided = decided or not fault.kind.together
    return struck


def fault_of(row: Any) -> Fault:
    number, network, endpoint, account, fault, times, rate, params, fired = row
    return Fault(
        id=number, network=network, endpoint=endpoint, account=account, fault=fault, times=times, rate=rate,
        params=json.loads(params), fired=fired,
    )  # fmt: skip


def shown(fault: Fault) -> dict[str, Any]:
    return {
        "id": fault.id, "network": fault.network, "endpoint": fault.endpoint, "account": fault.account,
        "fault": fault.fault, "times": fault.times, "rate": fault.rate, "params": dict(fault.params),
        "fired": fault.fired,
    }  # fmt: skip
