"""People and programs: keys, users, sessions, and who guesses. Each change with its line in the audit trail."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.rules.login_throttle import Patience, Tries, failed, until
from postino.stores.operations.audit import write_audit_entry
from postino.stores.operations.users import decode_brands
from postino.stores.records import AuditContext
from postino.stores.statement import Operation, Row, ask
from postino.values.auth import Role, Session, User


def begin_login(tries: Mapping[str, Patience]) -> Operation[datetime | None]:
    """In the order of their names: two that hold one each would wait for each other."""
    known: dict[str, Tries] = {}
    for subject in sorted(tries):
        row = (yield ask("lock_login_throttle", subject=subject))[0]
        now: datetime = row["now_at"]
        known[subject] = Tries(row["failures"], row["last_at"])
    waits = [at for subject, had in known.items() if (at := until(had, tries[subject])) is not None and at > now]
    if waits:
        return max(waits)
    for subject, had in known.items():
        yield ask("update_login_throttle", subject=subject, failures=failed(had, tries[subject], now).failures)
    longest = max(patience.forgotten_after for patience in tries.values())
    yield ask("prune_login_throttles", before_at=now - longest)
    return None


def forgive_login(forgotten: str, one_less: str) -> Operation[None]:
    for name, subject in sorted(
        (("delete_login_throttle", forgotten), ("decrement_login_throttle", one_less)), key=lambda it: it[1]
    ):
        yield ask(name, subject=subject)


def start_session(session: Session, act: AuditContext) -> Operation[Session]:
    yield ask("prune_sessions")
    written = yield ask("insert_session", **make_session_values(session))
    yield from write_audit_entry(act, "session.started", f"session:{session.id}")
    return to_session(written[0])


def find_session(session_id: UUID) -> Operation[tuple[Session, User, datetime] | None]:
    found = yield ask("get_session", id=session_id)
    return to_session_and_user(found)


def touch_session(session_id: UUID) -> Operation[None]:
    yield ask("touch_session", id=session_id)


def end_session(session_id: UUID, act: AuditContext) -> Operation[bool]:
    ended = yield ask("delete_session", id=session_id)
    if ended:
        yield from write_audit_entry(act, "session.ended", f"session:{session_id}")
    return bool(ended)


def add_sign_in_link(link: Session, act: AuditContext) -> Operation[None]:
    yield ask("prune_sessions")
    yield ask("insert_sign_in_link", **make_session_values(link))
    yield from write_audit_entry(act, "sign_in.made", f"sign_in:{link.id}")


def find_sign_in_link(link_id: UUID) -> Operation[tuple[Session, User, datetime] | None]:
    found = yield ask("get_sign_in_link", id=link_id)
    return to_session_and_user(found)


def use_sign_in_link(link_id: UUID, session: Session, act: AuditContext) -> Operation[Session | None]:
    taken = yield ask("delete_sign_in_link", id=link_id)
    if not taken:
        return None
    return (yield from start_session(session, act))


def to_session_and_user(found: Sequence[Row]) -> tuple[Session, User, datetime] | None:
    """Without the user's password: a session is proof enough."""
    if not found:
        return None
    [row] = found
    one = to_session(row)
    brands, role = decode_brands(row["brands"]), Role(row["role"])
    user = User(id=one.user_id, name=row["name"], role=role, brands=brands, created_by=row["created_by"])
    return one, user, row["now_at"]


def to_session(row: Row) -> Session:
    told = {name: row[name] for name in Session.__slots__}
    return Session(**{**told, "user_id": UUID(str(row["user_id"]))})


def make_session_values(session: Session) -> dict[str, Any]:
    return {name: getattr(session, name) for name in ("id", "user_id", "digest", "expires_at")}
