"""The accounts on the simulated networks. Their credentials are derived from the handle."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import apsw

from postino import clock
from postino.errors import Conflict
from postino.sandbox.network import SandboxNetwork
from postino.sandbox.network_state import SandboxAccount, to_account
from postino.sandbox.networks import networks

COLUMNS = "network, handle, remote_id, credentials, blocked"


class SeededAccount(NamedTuple):
    network: str
    handle: str
    remote_id: str
    credentials: Mapping[str, str]


def list_seeded_accounts() -> list[SeededAccount]:
    """Return the account that every network has from the start."""
    return [
        SeededAccount(network.name, network.handle, member.remote_id, dict(member.credentials))
        for network in networks().values()
        for member in [network.set_up_account(network.handle)]
    ]


def seed_accounts(connection: apsw.Connection) -> None:
    """Add the accounts from `list_seeded_accounts` that do not exist yet."""
    for account in list_seeded_accounts():
        if find_account(connection, account.network, account.handle) is None:
            open_account(connection, networks()[account.network], account.handle)


def open_account(connection: apsw.Connection, network: SandboxNetwork, handle: str) -> SandboxAccount:
    if find_account(connection, network.name, handle) is not None:
        raise Conflict(f"{network.title} already has an account {handle}.")
    member = network.set_up_account(handle)
    connection.execute(
        "INSERT INTO accounts (network, handle, remote_id, credentials) VALUES (?, ?, ?, ?)",
        (network.name, handle, member.remote_id, json.dumps(dict(member.credentials))),
    )
    issue_first_tokens(connection, network, handle)
    return SandboxAccount(network.name, handle, member.remote_id, member.credentials)


def issue_first_tokens(connection: apsw.Connection, network: SandboxNetwork, handle: str) -> None:
    """Issue the tokens in the account's credentials. They expire only on request."""
    connection.executemany(
        "INSERT OR REPLACE INTO tokens VALUES (?, ?, ?, ?, 0, NULL)",
        [(network.name, token, handle, kind) for token, kind in network.set_up_account(handle).tokens.items()],
    )


def find_account(connection: apsw.Connection, network: str, handle: str) -> SandboxAccount | None:
    rows = connection.execute(f"SELECT {COLUMNS} FROM accounts WHERE network = ? AND handle = ?", (network, handle))
    return next((to_account(row) for row in rows), None)


def list_accounts(connection: apsw.Connection) -> list[SandboxAccount]:
    return [to_account(row) for row in connection.execute(f"SELECT {COLUMNS} FROM accounts ORDER BY 1, 2")]


def next_handle(connection: apsw.Connection, network: SandboxNetwork) -> str:
    name, dot, domain = network.handle.partition(".")
    count = connection.execute("SELECT count(*) FROM accounts WHERE network = ?", (network.name,)).get
    while find_account(connection, network.name, handle := f"{name}{count + 1}{dot}{domain}"):
        count += 1
    return handle


def open_accounts(connection: apsw.Connection, network: SandboxNetwork, count: int) -> list[SandboxAccount]:
    """Open `count` accounts with the next free handles."""
    return [open_account(connection, network, next_handle(connection, network)) for _ in range(count)]


def set_blocked(connection: apsw.Connection, account: SandboxAccount, blocked: bool) -> None:
    connection.execute(
        "UPDATE accounts SET blocked = ? WHERE network = ? AND handle = ?", (blocked, account.network, account.handle)
    )


def set_expired(connection: apsw.Connection, account: SandboxAccount, kind: str, expired: bool) -> None:
    """Expire all tokens of this kind of the account, or make them valid again."""
    connection.execute(
        "UPDATE tokens SET expires_at = ? WHERE network = ? AND account = ? AND kind = ?",
        (clock.now().timestamp() if expired else None, account.network, account.handle, kind),
    )


def reset_accounts(connection: apsw.Connection) -> None:
    """Unblock all accounts and issue their first tokens again."""
    connection.execute("DELETE FROM tokens")
    connection.execute("UPDATE accounts SET blocked = 0")
    for account in list_accounts(connection):
        issue_first_tokens(connection, networks()[account.network], account.handle)


def render(account: SandboxAccount) -> dict[str, Any]:
    return {
        "network": account.network, "handle": account.handle, "remote_id": account.remote_id,
        "credentials": dict(account.credentials), "blocked": account.blocked,
    }  # fmt: skip
