"""Accounts: add, connect again, change state. An account with waiting posts never changes its brand."""

import json
from collections.abc import Sequence
from typing import Any

from postino.errors import Conflict, NotFound
from postino.stores.operations.audit import write_audit_entry
from postino.stores.operations.events import insert_event
from postino.stores.operations.gates import close_gate, open_gate
from postino.stores.operations.text import clean_text
from postino.stores.records import AuditContext
from postino.stores.statement import Operation, Row, ask
from postino.values.event import EventType
from postino.values.gate import GateKind, Scope
from postino.values.post import (
    AccountState,
    StoredAccount,
    describe_missing_account,
)

COLUMNS = ("id", "network", "handle", "base_url", "brand", "remote_id", "sealed")
# A suspended account waits like one whose token has expired: until it is reconnected, resumed or checked.
GATE_KINDS = {
    AccountState.TOKEN_EXPIRED: GateKind.TOKEN,
    AccountState.SUSPENDED: GateKind.TOKEN,
    AccountState.PAUSED: GateKind.PAUSE,
}
EVENTS = {
    AccountState.TOKEN_EXPIRED: EventType.ACCOUNT_TOKEN_EXPIRED,
    AccountState.SUSPENDED: EventType.ACCOUNT_SUSPENDED,
}


def add_account(account: StoredAccount, audit: AuditContext | None = None) -> Operation[StoredAccount]:
    """Insert an account. Raises Conflict if it exists; of two that add it at once, one succeeds."""
    rows = yield ask("insert_account", **make_account_values(account))
    if not rows:
        raise Conflict(f"Account {account.id} exists already. Nothing was changed.")
    yield from audit_account("added", account, audit)
    return to_account(rows[0])


def save_account(
    account: StoredAccount, audit: AuditContext | None = None, *, before: StoredAccount | None = None
) -> Operation[StoredAccount]:
    """Insert an account, or give a known one new credentials, which makes it active.

    Raises Conflict if its brand is no longer that of `before`, or would change while posts of it are to be published.
    """
    locked = yield ask("lock_account", id=account.id)
    if locked:
        yield from check_account_change(account, locked[0], before)
    rows = yield ask("upsert_account", **make_account_values(account))
    if locked and GATE_KINDS.get(locked[0]["state"]) is GateKind.TOKEN:
        yield from open_gate(Scope.ACCOUNT, account.id, GateKind.TOKEN)
    yield from audit_account("reconnected" if locked else "added", account, audit)
    return to_account(rows[0])


def check_account_change(account: StoredAccount, stored: Row, before: StoredAccount | None) -> Operation[None]:
    """Raise Conflict if a known account may not become the given one."""
    if stored["network"] != account.network:
        raise Conflict(
            f"Account {account.id} is on {stored['network']}, not on {account.network}. Nothing was changed."
        )
    if before is not None and before.brand != stored["brand"]:
        raise Conflict(f"Account {account.id} was given to another brand in the meantime. Nothing was changed.")
    if stored["brand"] == account.brand:
        return
    [waiting] = yield ask("count_account_jobs", account=account.id)
    if count := waiting["jobs"]:
        waiting_posts = "1 of its posts is" if count == 1 else f"{count} of its posts are"
        raise Conflict(
            f"Account {account.id} was not given to another brand: {waiting_posts} waiting or uncertain. Nothing was"
            " changed. Publish, cancel or resolve them first."
        )


def audit_account(action: str, account: StoredAccount, audit: AuditContext | None) -> Operation[None]:
    """Write the audit entry of a change that a person made."""
    if audit is not None:
        yield from write_audit_entry(audit, f"account.{action}", f"account:{account.id}")


def make_account_values(account: StoredAccount) -> dict[str, Any]:
    """Return the columns of an account."""
    return {name: getattr(account, name) for name in COLUMNS}


def to_account(row: Row) -> StoredAccount:
    """Return the account in a row."""
    values = {name: row[name] for name in StoredAccount.__slots__}
    return StoredAccount(**{**values, "state": AccountState(row["state"])})


def get_account(account_id: str) -> Operation[StoredAccount]:
    """Return an account. Raises NotFound."""
    accounts = yield from find_accounts([account_id])
    if not accounts:
        raise NotFound(describe_missing_account(account_id))
    return accounts[0]


def find_accounts(names: Sequence[str]) -> Operation[list[StoredAccount]]:
    """Return the accounts that exist, in the order of the given ids."""
    accounts = {row["id"]: to_account(row) for row in (yield ask("find_accounts", ids=[*names]))}
    return [accounts[name] for name in dict.fromkeys(names) if name in accounts]


def list_accounts() -> Operation[list[StoredAccount]]:
    """Return all accounts."""
    return [to_account(row) for row in (yield ask("list_accounts"))]


def set_account_state(
    account_id: str, state: AccountState, reason: str | None, audit: AuditContext
) -> Operation[StoredAccount]:
    """Set an account's state and its gate: posts wait while the account is not active."""
    before = yield from get_account(account_id)
    reason = clean_text(reason)
    marked = yield ask("set_account_state", id=account_id, state=state, reason=reason)
    if state is AccountState.ACTIVE and before.state is not AccountState.ACTIVE:
        yield from open_gate(Scope.ACCOUNT, account_id, GATE_KINDS[before.state])
    elif state is not AccountState.ACTIVE:
        yield from close_gate(Scope.ACCOUNT, account_id, GATE_KINDS[state], reason=reason)
    data = {"account": account_id, "state": state, "reason": reason or ""}
    yield from insert_event(EventType.ACCOUNT_STATE_CHANGED, None, data)
    if state in EVENTS and before.state is not state:
        fields = {"account": account_id, "network": before.network, "reason": reason or ""}
        yield from insert_event(EVENTS[state], None, fields)
    yield from write_audit_entry(audit, EventType.ACCOUNT_STATE_CHANGED, f"account:{account_id}", json.dumps(data))
    return to_account(marked[0])
