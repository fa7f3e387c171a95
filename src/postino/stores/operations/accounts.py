"""Accounts: add, connect again, change state. An account with waiting posts never changes its brand."""

import json
from collections.abc import Sequence
from typing import Any

from postino.errors import Conflict, NotFound
from postino.stores.operations.audit import write_audit_entry
from postino.stores.operations.events import insert_event
from postino.stores.operations.gates import close_gate, open_gate
from postino.stores.records import AuditContext
from postino.stores.statement import Operation, Row, ask
from postino.values.event import EventType
from postino.values.gate import GateKind, Scope
from postino.values.post import (
    AccountState,
    StoredAccount,
    describe_missing_account,
)
from postino.values.service import get_service

COLUMNS = ("id", "network", "handle", "base_url", "brand", "remote_id", "sealed")
# A suspended account waits like one whose token has expired: until it is reconnected, resumed or checked.
GATE_KINDS = {
    AccountState.TOKEN_EXPIRED: GateKind.TOKEN,
    AccountState.SUSPENDED: GateKind.TOKEN,
    AccountState.LOCKED: GateKind.TOKEN,
    AccountState.PAUSED: GateKind.PAUSE,
}
HOLDS = frozenset({AccountState.TOKEN_EXPIRED, AccountState.SUSPENDED, AccountState.LOCKED})
EVENTS = {
    AccountState.TOKEN_EXPIRED: EventType.ACCOUNT_TOKEN_EXPIRED,
    AccountState.SUSPENDED: EventType.ACCOUNT_SUSPENDED,
    AccountState.LOCKED: EventType.ACCOUNT_LOCKED,
}


def add_account(account: StoredAccount, audit: AuditContext | None = None) -> Operation[StoredAccount]:
    """Insert an account. Raises Conflict if it exists; of two that add it at once, one succeeds."""
    rows = yield ask("insert_account", **make_account_values(account))
    if not rows:
        raise Conflict(f"Account {account.id} exists already. Nothing was changed.")
    yield from audit_account("added", account, audit)
    return (yield from write_account_state(account.id, None))


def save_account(
    account: StoredAccount,
    audit: AuditContext | None = None,
    *,
    before: StoredAccount | None = None,
    renewed_from: bytes | None = None,
) -> Operation[StoredAccount]:
    """Insert an account, or give a known one new credentials, which makes it active unless a person has paused it.

    Raises Conflict if its brand is no longer that of `before`, or would change while posts of it are to be published.
    With `renewed_from` the network has renewed these sealed credentials: raises Conflict if the account has others, and
    does not end a suspension.
    """
    locked = yield ask("lock_account", id=account.id)
    hold = None
    if locked:
        if renewed_from is not None:
            hold = check_renewal(to_account(locked[0]), renewed_from)
        yield from check_account_change(account, locked[0], before)
    yield ask("upsert_account", **make_account_values(account))
    if hold is None:
        yield from open_gate(Scope.ACCOUNT, account.id, GateKind.TOKEN)
    saved = yield from write_account_state(account.id, hold)
    yield from audit_account("reconnected" if locked else "added", account, audit)
    return saved


def check_renewal(stored: StoredAccount, renewed_from: bytes) -> AccountState | None:
    """Return the hold that renewed credentials do not end. Raises Conflict if they are not renewed from these."""
    if stored.sealed != renewed_from:
        raise Conflict(f"Account {stored.id} was reconnected in the meantime. Nothing was changed.")
    return AccountState.SUSPENDED if stored.state is AccountState.SUSPENDED else None


def write_account_state(account_id: str, hold: AccountState | None) -> Operation[StoredAccount]:
    """Write the state that an account's gates give it: held, else paused, else active. Its row is locked."""
    reasons = {row["kind"]: row["reason"] for row in (yield ask("get_gates", scope=Scope.ACCOUNT, name=account_id))}
    paused = AccountState.PAUSED if GateKind.PAUSE in reasons else AccountState.ACTIVE
    state = hold or paused
    reason = reasons.get(GATE_KINDS[state]) if state in GATE_KINDS else None
    [row] = yield ask("set_account_state", id=account_id, state=state, reason=reason)
    return to_account(row)


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
    service = get_service(account.network, account.base_url)
    return {name: getattr(account, name) for name in COLUMNS} | {"service": service}


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


def list_locked_accounts() -> Operation[list[StoredAccount]]:
    """Return the accounts whose credentials no vault key opens."""
    return [to_account(row) for row in (yield ask("list_locked_accounts"))]


def set_account_state(
    account_id: str,
    state: AccountState,
    reason: str | None,
    audit: AuditContext,
    *,
    version: int | None = None,
    keeps_pause: bool = False,
) -> Operation[StoredAccount]:
    """Hold, pause or activate an account: posts wait while it is not active. A held account that is paused stays held.

    With `version`, return an account with another version unchanged: a person has reconnected it, for example. If the
    network refuses an account that is already held, Postino writes no further event. With
    `keeps_pause`, only a hold ends, not a person's pause.
    """
    locked = yield ask("lock_account", id=account_id)
    before = to_account(locked[0]) if locked else (yield from get_account(account_id))
    if (version is not None and before.version != version) or (state in HOLDS and before.state is state):
        return before
    yield from move_account_gates(account_id, state, reason, keeps_pause=keeps_pause)
    hold = before.state if state is AccountState.PAUSED and before.state in HOLDS else None
    after = yield from write_account_state(account_id, state if state in HOLDS else hold)
    data = {"account": account_id, "state": after.state, "reason": after.reason or ""}
    yield from insert_event(EventType.ACCOUNT_STATE_CHANGED, None, data)
    if state in EVENTS:
        fields = {"account": account_id, "network": before.network, "reason": after.reason or ""}
        yield from insert_event(EVENTS[state], None, fields)
    yield from write_audit_entry(audit, EventType.ACCOUNT_STATE_CHANGED, f"account:{account_id}", json.dumps(data))
    return after


def move_account_gates(
    account_id: str, state: AccountState, reason: str | None, *, keeps_pause: bool
) -> Operation[None]:
    """Close the gate of a state that is not active; open the gates of an active account."""
    if state is not AccountState.ACTIVE:
        yield from close_gate(Scope.ACCOUNT, account_id, GATE_KINDS[state], reason=reason)
        return
    yield from open_gate(Scope.ACCOUNT, account_id, GateKind.TOKEN)
    if not keeps_pause:
        yield from open_gate(Scope.ACCOUNT, account_id, GateKind.PAUSE)
