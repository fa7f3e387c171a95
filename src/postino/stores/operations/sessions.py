"""Sessions, sign-in links and login throttling. Expired sessions and links are pruned when one is added."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.rules.sign_in import LoginFailures, ThrottlePolicy, get_next_attempt_time, record_failure
from postino.stores.operations.audit import write_audit_entry
from postino.stores.operations.users import decode_names
from postino.stores.records import AuditContext
from postino.stores.statement import Operation, Row, ask
from postino.values.auth import Role, Session, User


def begin_login(tries: Mapping[str, ThrottlePolicy]) -> Operation[datetime | None]:
    """Count an attempt against each subject before the password is checked, or return until when none is allowed.

    Subjects are locked in the order of their names: two logins that hold one each would wait for each other.
    """
    attempts: dict[str, LoginFailures] = {}
    for subject in sorted(tries):
        row = (yield ask("lock_login_throttle", subject=subject))[0]
        now: datetime = row["now_at"]
        attempts[subject] = LoginFailures(row["failures"], row["last_at"])
    waits = [
        at
        for subject, attempt in attempts.items()
        if (at := get_next_attempt_time(attempt, tries[subject])) is not None and at > now
    ]
    if waits:
        for subject, attempt in attempts.items():
            if attempt.last_at is None:  # this attempt does not count: strangers could fill the table with names
                yield ask("delete_login_throttle", subject=subject)
        return max(waits)
    for subject, attempt in attempts.items():
        yield ask(
            "update_login_throttle", subject=subject, failures=record_failure(attempt, tries[subject], now).failures
        )
    longest = max(policy.forgotten_after for policy in tries.values())
    yield ask("prune_login_throttles", before_at=now - longest)
    return None


def forgive_login(forgotten: str, one_less: str) -> Operation[None]:
    """Record a good login: forget all attempts of one subject, and take this attempt off the other."""
    for name, subject in sorted(
        (("delete_login_throttle", forgotten), ("decrement_login_throttle", one_less)), key=lambda it: it[1]
    ):
        yield ask(name, subject=subject)


def start_session(session: Session, audit: AuditContext) -> Operation[Session]:
    """Insert a session and write an audit entry."""
    yield ask("prune_sessions")
    rows = yield ask("insert_session", **make_session_values(session))
    yield from write_audit_entry(audit, "session.started", f"session:{session.id}")
    return to_session(rows[0])


def find_session(session_id: UUID) -> Operation[tuple[Session, User, datetime] | None]:
    """Return a session with its user and the database's time, if it exists."""
    rows = yield ask("get_session", id=session_id)
    return to_session_and_user(rows)


def touch_session(session_id: UUID) -> Operation[None]:
    """Record that a session was used now."""
    yield ask("touch_session", id=session_id)


def end_session(session_id: UUID, audit: AuditContext) -> Operation[bool]:
    """Delete a session; return whether it existed."""
    ended = yield ask("delete_session", id=session_id)
    if ended:
        yield from write_audit_entry(audit, "session.ended", f"session:{session_id}")
    return bool(ended)


def add_sign_in_link(link: Session, audit: AuditContext) -> Operation[None]:
    """Insert a link that signs a user in once."""
    yield ask("prune_sessions")
    yield ask("insert_sign_in_link", **make_session_values(link))
    yield from write_audit_entry(audit, "sign_in.made", f"sign_in:{link.id}")


def find_sign_in_link(link_id: UUID) -> Operation[tuple[Session, User, datetime] | None]:
    """Return a sign-in link with its user and the database's time, if it exists."""
    rows = yield ask("get_sign_in_link", id=link_id)
    return to_session_and_user(rows)


def use_sign_in_link(link_id: UUID, session: Session, audit: AuditContext) -> Operation[Session | None]:
    """Delete a sign-in link and start a session; return None if the link was used before."""
    rows = yield ask("delete_sign_in_link", id=link_id)
    if not rows:
        return None
    return (yield from start_session(session, audit))


def to_session_and_user(rows: Sequence[Row]) -> tuple[Session, User, datetime] | None:
    """Return the session and user in a row, without the user's password: a session is proof enough."""
    if not rows:
        return None
    [row] = rows
    session = to_session(row)
    brands, role = decode_names(row["brands"]), Role(row["role"])
    user = User(id=session.user_id, name=row["name"], role=role, brands=brands, created_by=row["created_by"])
    return session, user, row["now_at"]


def to_session(row: Row) -> Session:
    """Return the session in a row."""
    values = {name: row[name] for name in Session.__slots__}
    return Session(**{**values, "user_id": UUID(str(row["user_id"]))})


def make_session_values(session: Session) -> dict[str, Any]:
    """Return the columns of a session."""
    return {name: getattr(session, name) for name in ("id", "user_id", "digest", "expires_at")}
