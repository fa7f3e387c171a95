"""The accounts people have on the simulated networks, with credentials anybody can work out from the handle."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import apsw

from postino.errors import Conflict
from postino.sandbox.network import Network
from postino.sandbox.network_state import Account, account_of
from postino.sandbox.networks import networks

COLUMNS = "network, handle, remote_id, credentials, blocked"


class SeededAccount(NamedTuple):
    network: str
    handle: str
    remote_id: str
    credentials: Mapping[str, str]


def seeded() -> list[SeededAccount]:
    """One account per network, there from the first start."""
    return [
        SeededAccount(network.name, network.handle, member.remote_id, dict(member.credentials))
        for network in networks().values()
        for member in [network.membership(network.handle)]
    ]


def seed(connection: apsw.Connection) -> None:
    """Opens what is missing, and leaves what is there as it is."""
    for account in seeded():
        if find(connection, account.network, account.handle) is None:
            open_account(connection, networks()[account.network], account.handle)


def open_account(connection: apsw.Connection, network: Network, handle: str) -> Account:
    if find(connection, network.name, handle) is not None:
        raise Conflict(f"{network.title} already has an account {handle}.")
    member = network.membership(handle)
    connection.execute(
        "INSERT INTO accounts (network, handle, remote_id, credentials) VALUES (?, ?, ?, ?)",
        (network.name, handle, member.remote_id, json.dumps(dict(member.credentials))),
    )
    issue_first_tokens(connection, network, handle)
    return Account(network.name, handle, member.remote_id, member.credentials)


def issue_first_tokens(connection: apsw.Connection, network: Network, handle: str) -> None:
    """Those the credentials hold from the start; they end only when they are made to."""
    connection.executemany(
        "INSERT OR REPLACE INTO tokens VALUES (?, ?, ?, ?, 0, NULL)",
        [(network.name, token, handle, kind) for token, kind in network.membership(handle).tokens.items()],
    )


def find(connection: apsw.Connection, network: str, handle: str) -> Account | None:
    rows = connection.execute(f"SELECT {COLUMNS} FROM accounts WHERE network = ? AND handle = ?", (network, handle))
    return next((account_of(row) for row in rows), None)


def every(connection: apsw.Connection) -> list[Account]:
    return [account_of(row) for row in connection.execute(f"SELECT {COLUMNS} FROM accounts ORDER BY 1, 2")]


def next_handle(connection: apsw.Connection, network: Network) -> str:
    name, dot, domain = network.handle.partition(".")
    count = connection.execute("SELECT count(*) FROM accounts WHERE network = ?", (network.name,)).get
    while find(connection, network.name, handle := f"{name}{count + 1}{dot}{domain}"):
        count += 1
    return handle


def open_accounts(connection: apsw.Connection, network: Network, count: int) -> list[Account]:
    """As many new ones, under the next free handles."""
    return [open_account(connection, network, next_handle(connection, network)) for _ in range(count)]


def block(connection: apsw.Connection, account: Account, blocked: bool) -> None:
    connection.execute(
        "UPDATE accounts SET blocked = ? WHERE network = ? AND handle = ?", (blocked, account.network, account.handle)
    )


def expire(connection: apsw.Connection, account: Account, kind: str, expired: bool) -> None:
    """Ends every token of this kind the account holds now, or lets them live again."""
    connection.execute(
        "UPDATE tokens SET expires_at = ? WHERE network = ? AND account = ? AND kind = ?",
        (datetime.now(UTC).timestamp() if expired else None, account.network, account.handle, kind),
    )


def restore(connection: apsw.Connection) -> None:
    """Every account as it was on its first day, with its first credentials."""
    connection.execute("DELETE FROM tokens")
    connection.execute("UPDATE accounts SET blocked = 0")
    for account in every(connection):
        issue_first_tokens(connection, networks()[account.network], account.handle)


def shown(account: Account) -> dict[str, Any]:
    return {
        "network": account.network, "handle": account.handle, "remote_id": account.remote_id,
        "credentials": dict(account.credentials), "blocked": account.blocked,
    }  # fmt: skip
