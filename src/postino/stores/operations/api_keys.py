"""People and programs: keys, users, sessions, and who guesses. Each change with its line in the audit trail."""

import json
from datetime import datetime
from uuid import UUID

from postino.errors import Conflict, NotFound
from postino.stores.operations.audit import write_audit_entry
from postino.stores.operations.users import decode_brands, describe_rights, encode_brands
from postino.stores.records import AuditContext
from postino.stores.statement import Operation, Row, ask
from postino.values.auth import ApiKey, Role


def add_api_key(key: ApiKey, act: AuditContext) -> Operation[ApiKey]:
    names = ("id", "name", "prefix", "digest", "created_by", "expires_at")
    said = {name: getattr(key, name) for name in names}
    written = yield ask("insert_api_key", **said, role=key.role.value, brands=encode_brands(key.brands))
    if not written:
        raise Conflict(f"There is an API key {key.name!r} already. Nothing was changed.")
    made = to_api_key(written[0])
    yield from write_audit_entry(act, "api_key.added", f"api_key:{key.id}", describe_api_key(made))
    return made


def remove_api_key(key_id: UUID, act: AuditContext) -> Operation[ApiKey]:
    removed = yield ask("delete_api_key", id=key_id)
    if not removed:
        raise NotFound(f"There is no API key {key_id}. The list of API keys shows those there are.")
    key = to_api_key(removed[0])
    yield from write_audit_entry(act, "api_key.removed", f"api_key:{key_id}", describe_api_key(key))
    return key


def list_api_keys(after: UUID | None, limit: int) -> Operation[list[ApiKey]]:
    return [to_api_key(row) for row in (yield ask("list_api_keys", after=after, limit=limit))]


def find_api_keys_by_prefix(prefix: str) -> Operation[tuple[list[ApiKey], datetime]]:
    found = yield ask("find_api_keys", prefix=prefix)
    now = found[0]["now_at"] if found else (yield ask("get_time"))[0]["now_at"]
    return [to_api_key(row) for row in found], now


def touch_api_key(key_id: UUID) -> Operation[None]:
    yield ask("touch_api_key", id=key_id)


def describe_api_key(key: ApiKey) -> str:
    expires = None if key.expires_at is None else key.expires_at.isoformat()
    return json.dumps({"name": key.name, "prefix": key.prefix, **describe_rights(key), "expires_at": expires})


def to_api_key(row: Row) -> ApiKey:
    told = {name: row[name] for name in ApiKey.__slots__}
    return ApiKey(**{**told, "role": Role(row["role"]), "brands": decode_brands(row["brands"])})
