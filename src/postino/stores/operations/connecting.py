"""Accounts are added once, connected anew as often as it takes, and given to another brand when nothing waits."""

from typing import Any

from postino.errors import Conflict
from postino.stores.operations import byhand, gates
from postino.stores.records import Act
from postino.stores.statement import Operation, Row, ask
from postino.values.gate import GateKind, Scope
from postino.values.post import AccountState, StoredAccount

NAMES = ("id", "network", "handle", "base_url", "brand", "remote_id", "sealed")


def add(account: StoredAccount, act: Act | None = None) -> Operation[StoredAccount]:
    written = yield ask("add_account", **values(account))
    if not written:
        raise Conflict(f"Account {account.id} is there already: somebody has just added it. Nothing was changed.")
    yield from noted("added", account, act)
    return stored_account(written[0])


def put(
    account: StoredAccount, act: Act | None = None, *, before: StoredAccount | None = None
) -> Operation[StoredAccount]:
    known = yield ask("lock_account", id=account.id)
    if known:
        yield from check(account, known[0], before)
    written = yield ask("put_account", **values(account))
    if known and known[0]["state"] == AccountState.TOKEN_EXPIRED:
        yield from gates.unshut(Scope.ACCOUNT, account.id, GateKind.TOKEN)
    yield from noted("reconnected" if known else "added", account, act)
    return stored_account(written[0])


def check(account: StoredAccount, known: Row, before: StoredAccount | None) -> Operation[None]:
    """What was seen of it must still hold; and its posts are never left behind in the hands of another brand."""
    if known["network"] != account.network:
        raise Conflict(f"Account {account.id} is one on {known['network']}, not on {account.network}.")
    if before is not None and before.brand != known["brand"]:
        raise Conflict(f"Account {account.id} was given to another brand meanwhile. Nothing was changed.")
    if known["brand"] == account.brand:
        return
    [waiting] = yield ask("unsettled", account=account.id)
    if count := waiting["jobs"]:
        told = "1 post of it is" if count == 1 else f"{count} posts of it are"
        raise Conflict(
            f"Account {account.id} was not given to another brand: {told} still to go out, or in doubt. Nothing was"
            " changed. Cancel or resolve them, or let them go out first."
        )


def noted(done: str, account: StoredAccount, act: Act | None) -> Operation[None]:
    if act is not None:
        yield from byhand.write_audit(act, f"account.{done}", f"account:{account.id}")


def values(account: StoredAccount) -> dict[str, Any]:
    return {name: getattr(account, name) for name in NAMES}


def stored_account(row: Row) -> StoredAccount:
    told = {name: row[name] for name in StoredAccount.__slots__}
    return StoredAccount(**{**told, "state": AccountState(row["state"])})
