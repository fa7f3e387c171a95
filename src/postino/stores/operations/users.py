"""Users. Every change writes an audit entry in its transaction."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from postino.errors import Conflict, NotFound
from postino.stores.operations.audit import write_audit_entry
from postino.stores.records import AuditContext
from postino.stores.statement import Operation, Row, ask
from postino.values.auth import ApiKey, Role, User

NO_SESSION = UUID(int=0)


def add_user(user: User, audit: AuditContext) -> Operation[User]:
    """Insert a user. Raises Conflict if the name is taken."""
    values = {name: getattr(user, name) for name in ("id", "name", "password", "created_by")}
    rows = yield ask("insert_user", **values, role=user.role.value, brands=encode_names(user.brands))
    if not rows:
        raise Conflict(f"There is a user {user.name} already. Nothing was changed.")
    added = to_user(rows[0])
    yield from write_audit_entry(audit, "user.added", f"user:{user.name}", describe_user(added))
    return added


def change_user(
    user: User,
    changed: Sequence[str],
    audit: AuditContext,
    *,
    old_password: str | None = None,
    kept_session: UUID | None = None,
) -> Operation[User]:
    """Change the named fields of a user; a new password ends all sessions of the user but the kept one.

    Raises NotFound, and Conflict if the hash of the password is no longer `old_password`: an owner has reset it.
    """
    rows = yield ask("lock_user", id=user.id)
    if not rows:
        raise make_user_not_found(user.id)
    if old_password is not None and rows[0]["password"] != old_password:
        raise Conflict("The password was changed in the meantime. Nothing was changed. Sign in again.")
    changed_user = replace(to_user(rows[0]), **{name: getattr(user, name) for name in changed})
    values = {"id": user.id, "password": changed_user.password, "role": changed_user.role.value}
    rows = yield ask("update_user", **values, brands=encode_names(changed_user.brands))
    if "password" in changed:
        yield ask("delete_sessions", user_id=user.id, kept=kept_session or NO_SESSION)
    now = to_user(rows[0])
    yield from write_audit_entry(audit, "user.changed", f"user:{now.name}", describe_user(now, changed=sorted(changed)))
    return now


def remove_user(user_id: UUID, audit: AuditContext) -> Operation[User]:
    """Delete a user and end the user's sessions. Raises NotFound."""
    removed = yield ask("delete_user", id=user_id)
    if not removed:
        raise make_user_not_found(user_id)
    yield ask("delete_sessions", user_id=user_id, kept=NO_SESSION)
    user = to_user(removed[0])
    yield from write_audit_entry(audit, "user.removed", f"user:{user.name}", describe_user(user))
    return user


def update_password_hash(user_id: UUID, password: str) -> Operation[None]:
    """Store the same password under a newer hash."""
    yield ask("set_password", id=user_id, password=password)


def get_user(user_id: UUID) -> Operation[User]:
    """Return a user. Raises NotFound."""
    rows = yield ask("get_user", id=user_id)
    if not rows:
        raise make_user_not_found(user_id)
    return to_user(rows[0])


def find_user_by_name(name: str) -> Operation[User | None]:
    """Return the user of this name, if any."""
    rows = yield ask("find_user", name=name)
    return to_user(rows[0]) if rows else None


def list_users(after: UUID | None, limit: int) -> Operation[list[User]]:
    """Return users in the order of their ids."""
    return [to_user(row) for row in (yield ask("list_users", after=after, limit=limit))]


def make_user_not_found(user_id: UUID) -> NotFound:
    """Return the error for a user that does not exist."""
    return NotFound(f"User {user_id} does not exist. Run `postino users list` to see all users.")


def encode_names(names: Iterable[str] | None) -> str | None:
    """Return brands or job types as stored: JSON, or None for all."""
    return None if names is None else json.dumps(sorted(names))


def decode_names(text: str | None) -> frozenset[str] | None:
    """Return brands or job types from their stored form."""
    return None if text is None else frozenset(json.loads(text))


def describe_user(user: User, **more: Any) -> str:
    """Return what the audit trail records about a user, without the password."""
    return json.dumps({**describe_rights(user), **more})


def describe_rights(holder: ApiKey | User) -> dict[str, Any]:
    """Return role and brands for the audit trail."""
    return {"role": holder.role.value, "brands": None if holder.brands is None else sorted(holder.brands)}


def to_user(row: Row) -> User:
    """Return the user in a row."""
    values = {name: row[name] for name in User.__slots__}
    return User(**{**values, "role": Role(row["role"]), "brands": decode_names(row["brands"])})
