"""API keys. Every change writes an audit entry in its transaction; `touch_api_key` is no change."""

import json
from datetime import datetime
from uuid import UUID

from postino.errors import Conflict, NotFound
from postino.stores.operations.audit import write_audit_entry
from postino.stores.operations.users import decode_names, describe_rights, encode_names
from postino.stores.records import AuditContext
from postino.stores.statement import Operation, Row, ask
from postino.values.auth import ApiKey, Role


def add_api_key(key: ApiKey, audit: AuditContext) -> Operation[ApiKey]:
    """Insert an API key. Raises Conflict if the name is taken."""
    names = ("id", "name", "prefix", "digest", "created_by", "expires_at")
    values = {name: getattr(key, name) for name in names}
    rows = yield ask(
        "insert_api_key",
        **values,
        role=key.role.value,
        brands=encode_names(key.brands),
        job_types=encode_names(key.job_types),
    )
    if not rows:
        raise Conflict(f"There is an API key {key.name!r} already. Nothing was changed.")
    added = to_api_key(rows[0])
    yield from write_audit_entry(audit, "api_key.added", f"api_key:{key.id}", describe_api_key(added))
    return added


def remove_api_key(key_id: UUID, audit: AuditContext) -> Operation[ApiKey]:
    """Delete an API key, which is refused from the next request on. Raises NotFound."""
    removed = yield ask("delete_api_key", id=key_id)
    if not removed:
        raise NotFound(f"API key {key_id} does not exist. Run `postino keys list` to see all API keys.")
    key = to_api_key(removed[0])
    yield from write_audit_entry(audit, "api_key.removed", f"api_key:{key_id}", describe_api_key(key))
    return key


def list_api_keys(after: UUID | None, limit: int) -> Operation[list[ApiKey]]:
    """Return API keys in the order of their ids."""
    return [to_api_key(row) for row in (yield ask("list_api_keys", after=after, limit=limit))]


def find_api_keys_by_prefix(prefix: str) -> Operation[tuple[list[ApiKey], datetime]]:
    """Return the API keys that have this prefix, and the database's time."""
    rows = yield ask("find_api_keys", prefix=prefix)
    now = rows[0]["now_at"] if rows else (yield ask("get_time"))[0]["now_at"]
    return [to_api_key(row) for row in rows], now


def touch_api_key(key_id: UUID) -> Operation[None]:
    """Record that an API key was used now."""
    yield ask("touch_api_key", id=key_id)


def describe_api_key(key: ApiKey) -> str:
    """Return what the audit trail records about a key, without its digest."""
    expires = None if key.expires_at is None else key.expires_at.isoformat()
    return json.dumps(
        {
            "name": key.name,
            "prefix": key.prefix,
            **describe_rights(key),
            "job_types": None if key.job_types is None else sorted(key.job_types),
            "expires_at": expires,
        }
    )


def to_api_key(row: Row) -> ApiKey:
    """Return the API key in a row."""
    values = {name: row[name] for name in ApiKey.__slots__}
    sets = {name: decode_names(row[name]) for name in ("brands", "job_types")}
    return ApiKey(**{**values, **sets, "role": Role(row["role"])})
