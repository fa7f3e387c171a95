"""People and programs: keys, users, sessions, and who guesses. Each change with its line in the audit trail."""

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


def add_user(user: User, act: AuditContext) -> Operation[User]:
    said = {name: getattr(user, name) for name in ("id", "name", "password", "created_by")}
    written = yield ask("insert_user", **said, role=user.role.value, brands=encode_brands(user.brands))
    if not written:
        raise Conflict(f"There is a user {user.name} already. Nothing was changed.")
    made = to_user(written[0])
    yield from write_audit_entry(act, "user.added", f"user:{user.name}", describe_user(made))
    return made


def change_user(user: User, changed: Sequence[str], act: AuditContext) -> Operation[User]:
    found = yield ask("lock_user", id=user.id)
    if not found:
        raise make_user_not_found(user.id)
    wanted = replace(to_user(found[0]), **{name: getattr(user, name) for name in changed})
    said = {"id": user.id, "password": wanted.password, "role": wanted.role.value}
    written = yield ask("update_user", **said, brands=encode_brands(wanted.brands))
    if "password" in changed:
        yield ask("delete_sessions", user_id=user.id)
    now = to_user(written[0])
    yield from write_audit_entry(act, "user.changed", f"user:{now.name}", describe_user(now, changed=sorted(changed)))
    return now


def remove_user(user_id: UUID, act: AuditContext) -> Operation[User]:
    removed = yield ask("delete_user", id=user_id)
    if not removed:
        raise make_user_not_found(user_id)
    yield ask("delete_sessions", user_id=user_id)
    user = to_user(removed[0])
    yield from write_audit_entry(act, "user.removed", f"user:{user.name}", describe_user(user))
    return user


def update_password_hash(user_id: UUID, password: str) -> Operation[None]:
    yield ask("set_password", id=user_id, password=password)


def get_user(user_id: UUID) -> Operation[User]:
    found = yield ask("get_user", id=user_id)
    if not found:
        raise make_user_not_found(user_id)
    return to_user(found[0])


def find_user_by_name(name: str) -> Operation[User | None]:
    found = yield ask("find_user", name=name)
    return to_user(found[0]) if found else None


def list_users(after: UUID | None, limit: int) -> Operation[list[User]]:
    return [to_user(row) for row in (yield ask("list_users", after=after, limit=limit))]


def make_user_not_found(user_id: UUID) -> NotFound:
    return NotFound(f"There is no user {user_id}. The list of users shows those there are.")


def encode_brands(brands: Iterable[str] | None) -> str | None:
    return None if brands is None else json.dumps(sorted(brands))


def decode_brands(text: str | None) -> frozenset[str] | None:
    return None if text is None else frozenset(json.loads(text))


def describe_user(user: User, **more: Any) -> str:
    return json.dumps({**describe_rights(user), **more})


def describe_rights(one: ApiKey | User) -> dict[str, Any]:
    return {"role": one.role.value, "brands": None if one.brands is None else sorted(one.brands)}


def to_user(row: Row) -> User:
    told = {name: row[name] for name in User.__slots__}
    return User(**{**told, "role": Role(row["role"]), "brands": decode_brands(row["brands"])})
