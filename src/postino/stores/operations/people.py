"""People and programs: keys, users, sessions, and who guesses. Each change with its line in the audit trail."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.errors import Conflict, NotFound
from postino.rules.login_throttle import Patience, Tries, failed, until
from postino.stores import rows
from postino.stores.operations.byhand import write_audit
from postino.stores.records import Act, AuditEntry
from postino.stores.statement import Operation, Row, ask
from postino.values.auth import ApiKey, Role, Session, User


def add_api_key(key: ApiKey, act: Act) -> Operation[ApiKey]:
    names = ("id", "name", "prefix", "digest", "created_by", "expires_at")
    said = {name: getattr(key, name) for name in names}
    written = yield ask("add_api_key", **said, role=key.role.value, brands=brands_text(key.brands))
    if not written:
        raise Conflict(f"There is an API key {key.name!r} already. Nothing was changed.")
    made = api_key(written[0])
    yield from write_audit(act, "api_key.added", f"api_key:{key.id}", told_of_key(made))
    return made


def remove_api_key(key_id: UUID, act: Act) -> Operation[ApiKey]:
    removed = yield ask("remove_api_key", id=key_id)
    if not removed:
        raise NotFound(f"There is no API key {key_id}. The list of API keys shows those there are.")
    key = api_key(removed[0])
    yield from write_audit(act, "api_key.removed", f"api_key:{key_id}", told_of_key(key))
    return key


def api_keys(after: UUID | None, limit: int) -> Operation[list[ApiKey]]:
    return [api_key(row) for row in (yield ask("api_keys", after=after, limit=limit))]


def api_keys_like(prefix: str) -> Operation[tuple[list[ApiKey], datetime]]:
    found = yield ask("api_keys_like", prefix=prefix)
    now = found[0]["now_at"] if found else (yield ask("clock"))[0]["now_at"]
    return [api_key(row) for row in found], now


def use_api_key(key_id: UUID) -> Operation[None]:
    yield ask("use_api_key", id=key_id)


def add_user(user: User, act: Act) -> Operation[User]:
    said = {name: getattr(user, name) for name in ("id", "name", "password", "created_by")}
    written = yield ask("add_user", **said, role=user.role.value, brands=brands_text(user.brands))
    if not written:
        raise Conflict(f"There is a user {user.name} already. Nothing was changed.")
    made = user_of(written[0])
    yield from write_audit(act, "user.added", f"user:{user.name}", told_of_user(made))
    return made


def change_user(user: User, changed: Sequence[str], act: Act) -> Operation[User]:
    found = yield ask("lock_user", id=user.id)
    if not found:
        raise no_user(user.id)
    wanted = replace(user_of(found[0]), **{name: getattr(user, name) for name in changed})
    said = {"id": user.id, "password": wanted.password, "role": wanted.role.value}
    written = yield ask("change_user", **said, brands=brands_text(wanted.brands))
    if "password" in changed:
        yield ask("end_sessions", user_id=user.id)
    now = user_of(written[0])
    yield from write_audit(act, "user.changed", f"user:{now.name}", told_of_user(now, changed=sorted(changed)))
    return now


def remove_user(user_id: UUID, act: Act) -> Operation[User]:
    removed = yield ask("remove_user", id=user_id)
    if not removed:
        raise no_user(user_id)
    yield ask("end_sessions", user_id=user_id)
    user = user_of(removed[0])
    yield from write_audit(act, "user.removed", f"user:{user.name}", told_of_user(user))
    return user


def renew_password(user_id: UUID, password: str) -> Operation[None]:
    yield ask("renew_password", id=user_id, password=password)


def user(user_id: UUID) -> Operation[User]:
    found = yield ask("user", id=user_id)
    if not found:
        raise no_user(user_id)
    return user_of(found[0])


def user_named(name: str) -> Operation[User | None]:
    found = yield ask("user_named", name=name)
    return user_of(found[0]) if found else None


def users(after: UUID | None, limit: int) -> Operation[list[User]]:
    return [user_of(row) for row in (yield ask("users", after=after, limit=limit))]


def begin_login(tries: Mapping[str, Patience]) -> Operation[datetime | None]:
    """In the order of their names: two that hold one each would wait for each other."""
    known: dict[str, Tries] = {}
    for subject in sorted(tries):
        row = (yield ask("lock_throttle", subject=subject))[0]
        now: datetime = row["now_at"]
        known[subject] = Tries(row["failures"], row["last_at"])
    waits = [at for subject, had in known.items() if (at := until(had, tries[subject])) is not None and at > now]
    if waits:
        return max(waits)
    for subject, had in known.items():
        yield ask("write_throttle", subject=subject, failures=failed(had, tries[subject], now).failures)
    longest = max(patience.forgotten_after for patience in tries.values())
    yield ask("prune_throttles", before_at=now - longest)
    return None


def forgive_login(forgotten: str, one_less: str) -> Operation[None]:
    for name, subject in sorted((("forget_throttle", forgotten), ("lessen_throttle", one_less)), key=lambda it: it[1]):
        yield ask(name, subject=subject)


def start_session(session: Session, act: Act) -> Operation[Session]:
    yield ask("prune_sessions")
    written = yield ask("add_session", **session_values(session))
    yield from write_audit(act, "session.started", f"session:{session.id}")
    return session_of(written[0])


def session(session_id: UUID) -> Operation[tuple[Session, User, datetime] | None]:
    found = yield ask("session", id=session_id)
    return whose(found)


def see_session(session_id: UUID) -> Operation[None]:
    yield ask("see_session", id=session_id)


def end_session(session_id: UUID, act: Act) -> Operation[bool]:
    ended = yield ask("end_session", id=session_id)
    if ended:
        yield from write_audit(act, "session.ended", f"session:{session_id}")
    return bool(ended)


def add_sign_in(link: Session, act: Act) -> Operation[None]:
    yield ask("prune_sessions")
    yield ask("add_sign_in", **session_values(link))
    yield from write_audit(act, "sign_in.made", f"sign_in:{link.id}")


def sign_in(link_id: UUID) -> Operation[tuple[Session, User, datetime] | None]:
    found = yield ask("sign_in", id=link_id)
    return whose(found)


def take_sign_in(link_id: UUID, session: Session, act: Act) -> Operation[Session | None]:
    taken = yield ask("take_sign_in", id=link_id)
    if not taken:
        return None
    return (yield from start_session(session, act))


def audit_page(before: int | None, limit: int) -> Operation[list[AuditEntry]]:
    return [rows.audit_entry(row) for row in (yield ask("audit_page", before=before, limit=limit))]


def audit_after(seq: int, limit: int) -> Operation[list[AuditEntry]]:
    return [rows.audit_entry(row) for row in (yield ask("audit_after", seq=seq, limit=limit))]


def now() -> Operation[datetime]:
    at: datetime = (yield ask("clock"))[0]["now_at"]
    return at


def no_user(user_id: UUID) -> NotFound:
    return NotFound(f"There is no user {user_id}. The list of users shows those there are.")


def brands_text(brands: Iterable[str] | None) -> str | None:
    return None if brands is None else json.dumps(sorted(brands))


def brands_of(text: str | None) -> frozenset[str] | None:
    return None if text is None else frozenset(json.loads(text))


def told_of_key(key: ApiKey) -> str:
    expires = None if key.expires_at is None else key.expires_at.isoformat()
    return json.dumps({"name": key.name, "prefix": key.prefix, **rights(key), "expires_at": expires})


def told_of_user(user: User, **more: Any) -> str:
    return json.dumps({**rights(user), **more})


def rights(one: ApiKey | User) -> dict[str, Any]:
    return {"role": one.role.value, "brands": None if one.brands is None else sorted(one.brands)}


def api_key(row: Row) -> ApiKey:
    told = {name: row[name] for name in ApiKey.__slots__}
    return ApiKey(**{**told, "role": Role(row["role"]), "brands": brands_of(row["brands"])})


def user_of(row: Row) -> User:
    told = {name: row[name] for name in User.__slots__}
    return User(**{**told, "role": Role(row["role"]), "brands": brands_of(row["brands"])})


def whose(found: Sequence[Row]) -> tuple[Session, User, datetime] | None:
    """Without the user's password: a session is proof enough."""
    if not found:
        return None
    [row] = found
    one = session_of(row)
    brands, role = brands_of(row["brands"]), Role(row["role"])
    user = User(id=one.user_id, name=row["name"], role=role, brands=brands, created_by=row["created_by"])
    return one, user, row["now_at"]


def session_of(row: Row) -> Session:
    told = {name: row[name] for name in Session.__slots__}
    return Session(**{**told, "user_id": UUID(str(row["user_id"]))})


def session_values(session: Session) -> dict[str, Any]:
    return {name: getattr(session, name) for name in ("id", "user_id", "digest", "expires_at")}
