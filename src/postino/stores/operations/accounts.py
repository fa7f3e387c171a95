"""Accounts are added once, connected anew as often as it takes, and given to another brand when nothing waits."""

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
    no_account,
)

COLUMNS = ("id", "network", "handle", "base_url", "brand", "remote_id", "sealed")
GATE_KINDS = {AccountState.TOKEN_EXPIRED: GateKind.TOKEN, AccountState.PAUSED: GateKind.PAUSE}


def add_account(account: StoredAccount, act: AuditContext | None = None) -> Operation[StoredAccount]:
    written = yield ask("insert_account", **make_account_values(account))
    if not written:
        raise Conflict(f"Account {account.id} is there already: somebody has just added it. Nothing was changed.")
    yield from audit_account("added", account, act)
    return to_account(written[0])


def save_account(
    account: StoredAccount, act: AuditContext | None = None, *, before: StoredAccount | None = None
) -> Operation[StoredAccount]:
    known = yield ask("lock_account", id=account.id)
    if known:
        yield from check_account_change(account, known[0], before)
    written = yield ask("upsert_account", **make_account_values(account))
    if known and known[0]["state"] == AccountState.TOKEN_EXPIRED:
        yield from open_gate(Scope.ACCOUNT, account.id, GateKind.TOKEN)
    yield from audit_account("reconnected" if known else "added", account, act)
    return to_account(written[0])


def check_account_change(account: StoredAccount, known: Row, before: StoredAccount | None) -> Operation[None]:
    """What was seen of it must still hold; and its posts are never left behind in the hands of another brand."""
    if known["network"] != account.network:
        raise Conflict(f"Account {account.id} is one on {known['network']}, not on {account.network}.")
    if before is not None and before.brand != known["brand"]:
        raise Conflict(f"Account {account.id} was given to another brand meanwhile. Nothing was changed.")
    if known["brand"] == account.brand:
        return
    [waiting] = yield ask("count_account_jobs", account=account.id)
    if count := waiting["jobs"]:
        told = "1 post of it is" if count == 1 else f"{count} posts of it are"
        raise Conflict(
            f"Account {account.id} was not given to another brand: {told} still to go out, or in doubt. Nothing was"
            " changed. Cancel or resolve them, or let them go out first."
        )


def audit_account(done: str, account: StoredAccount, act: AuditContext | None) -> Operation[None]:
    if act is not None:
        yield from write_audit_entry(act, f"account.{done}", f"account:{account.id}")


def make_account_values(account: StoredAccount) -> dict[str, Any]:
    return {name: getattr(account, name) for name in COLUMNS}


def to_account(row: Row) -> StoredAccount:
    told = {name: row[name] for name in StoredAccount.__slots__}
    return StoredAccount(**{**told, "state": AccountState(row["state"])})


def get_account(account_id: str) -> Operation[StoredAccount]:
    found = yield from find_accounts([account_id])
    if not found:
        raise NotFound(no_account(account_id))
    return found[0]


def find_accounts(names: Sequence[str]) -> Operation[list[StoredAccount]]:
    there = {row["id"]: to_account(row) for row in (yield ask("find_accounts", ids=[*names]))}
    return [there[name] for name in dict.fromkeys(names) if name in there]


def list_accounts() -> Operation[list[StoredAccount]]:
    return [to_account(row) for row in (yield ask("list_accounts"))]


def set_account_state(
    account_id: str, state: AccountState, reason: str | None, act: AuditContext
) -> Operation[StoredAccount]:
    before = yield from get_account(account_id)
    reason = clean_text(reason)
    marked = yield ask("set_account_state", id=account_id, state=state, reason=reason)
    if state is AccountState.ACTIVE and before.state is not AccountState.ACTIVE:
        yield from open_gate(Scope.ACCOUNT, account_id, GATE_KINDS[before.state])
    elif state is not AccountState.ACTIVE:
        yield from close_gate(Scope.ACCOUNT, account_id, GATE_KINDS[state], reason=reason)
    told = {"account": account_id, "state": state, "reason": reason or ""}
    yield from insert_event(EventType.ACCOUNT_MARKED, None, told)
    yield from write_audit_entry(act, EventType.ACCOUNT_MARKED, f"account:{account_id}", json.dumps(told))
    return to_account(marked[0])
