"""The stored state of one network, as one call reads and changes it: objects, tokens, accounts and the record."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import apsw

from postino import clock

REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class SandboxFile:
    """A file that was sent or downloaded; `url` if it stays on another server."""

    mime: str
    data: bytes = field(repr=False)
    name: str = ""
    url: str | None = None


@dataclass(frozen=True, slots=True)
class SandboxAccount:
    network: str
    handle: str
    remote_id: str
    credentials: Mapping[str, str] = field(repr=False)
    blocked: bool = False


@dataclass(frozen=True, slots=True)
class SandboxToken:
    token: str = field(repr=False)
    account: str
    kind: str
    issued_at: float
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class StoredObject:
    id: str
    account: str
    body: dict[str, Any]
    kept_at: datetime


class NetworkState:
    """Valid within one transaction. `account` is the calling account, once it is authorized."""

    def __init__(self, connection: apsw.Connection, network: str, settings: Mapping[str, float]) -> None:
        self.connection = connection
        self.network = network
        self.settings = settings
        self.now = clock.now()
        self.caller: SandboxAccount | None = None
        self.hidden_for = timedelta()

    @property
    def account(self) -> SandboxAccount:
        assert self.caller is not None, "only endpoints that need no token have no caller"
        return self.caller

    def get_setting(self, name: str) -> float:
        return self.settings[f"{self.network}_{name}"]

    def has_elapsed(self, since: datetime, setting: str) -> bool:
        """Return whether the seconds of a setting have passed. A test can change the setting instead of waiting."""
        return self.now - since >= timedelta(seconds=self.get_setting(setting))

    def next_number(self) -> int:
        """Return a number that was never returned before, not even before a reset."""
        value: int = self.connection.execute("UPDATE counter SET value = value + 1 RETURNING value").get
        return value

    # Objects

    def add(self, kind: str, id: str, body: Mapping[str, Any], *, listed: bool = False) -> None:
        visible_at = self.now + self.hidden_for if listed else self.now
        self.connection.execute(
            "INSERT INTO things (network, kind, id, account, body, kept_at, visible_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (self.network, kind, id, self.account.handle, json.dumps(body), self.now.timestamp(),
             visible_at.timestamp()),
        )  # fmt: skip

    def find(self, kind: str, id: str) -> StoredObject | None:
        rows = self.connection.execute(
            "SELECT id, account, body, kept_at FROM things WHERE network = ? AND kind = ? AND id = ?",
            (self.network, kind, id),
        )
        return next((to_object(row) for row in rows), None)

    def find_owned(self, kind: str, id: str) -> StoredObject | None:
        stored = self.find(kind, id)
        return stored if stored and stored.account == self.account.handle else None

    def update(self, kind: str, id: str, **changes: Any) -> None:
        """Change fields of an object; do nothing if it does not exist."""
        if stored := self.find(kind, id):
            self.replace(kind, id, stored.body | changes)

    def replace(self, kind: str, id: str, body: Mapping[str, Any]) -> None:
        self.connection.execute(
            "UPDATE things SET body = ? WHERE network = ? AND kind = ? AND id = ?",
            (json.dumps(body), self.network, kind, id),
        )

    def delete(self, kind: str, id: str) -> None:
        self.connection.execute(
            "DELETE FROM things WHERE network = ? AND kind = ? AND id = ?", (self.network, kind, id)
        )

    def list_objects(self, kind: str, account: str, *, include_hidden: bool = False) -> list[StoredObject]:
        """Return the objects of an account, the newest first, without those that are still invisible."""
        rows = self.connection.execute(
            "SELECT id, account, body, kept_at FROM things WHERE network = ? AND kind = ? AND account = ?"
            " AND (? OR visible_at <= ?) ORDER BY number DESC",
            (self.network, kind, account, include_hidden, self.now.timestamp()),
        )
        return [to_object(row) for row in rows]

    # Uploads in pieces

    def add_piece(self, upload: str, start: int, data: bytes) -> None:
        """Store one piece of an upload. The same piece again replaces the first."""
        self.connection.execute(
            "INSERT OR REPLACE INTO pieces VALUES (?, ?, ?, ?)", (self.network, upload, start, data)
        )

    def join_pieces(self, upload: str) -> bytes:
        rows = self.connection.execute(
            "SELECT bytes FROM pieces WHERE network = ? AND upload = ? ORDER BY start", (self.network, upload)
        )
        return b"".join(data for (data,) in rows)

    def delete_pieces(self, upload: str) -> None:
        self.connection.execute("DELETE FROM pieces WHERE network = ? AND upload = ?", (self.network, upload))

    # Accounts and their tokens

    def find_account(self, name: str) -> SandboxAccount | None:
        """Return the account with this handle or remote id."""
        columns = "SELECT network, handle, remote_id, credentials, blocked FROM accounts WHERE network = ?1"
        rows = self.connection.execute(
            f"{columns} AND handle = ?2 UNION ALL {columns} AND remote_id = ?2", (self.network, name)
        )
        return next((to_account(row) for row in rows), None)

    def find_token(self, token: str | None) -> SandboxToken | None:
        rows = self.connection.execute(
            "SELECT token, account, kind, issued_at, expires_at FROM tokens WHERE network = ? AND token = ?",
            (self.network, token),
        )
        return next((SandboxToken(*row) for row in rows), None)

    def is_expired(self, token: SandboxToken) -> bool:
        return token.expires_at is not None and token.expires_at <= self.now.timestamp()

    def issue_token(self, token: str, kind: str, account: str, lifetime: timedelta | None) -> None:
        expires_at = None if lifetime is None else (self.now + lifetime).timestamp()
        self.connection.execute(
            "INSERT OR REPLACE INTO tokens VALUES (?, ?, ?, ?, ?, ?)",
            (self.network, token, account, kind, self.now.timestamp(), expires_at),
        )

    def revoke_token(self, token: str) -> None:
        """Revoke a token. Unlike an expired token, it cannot become valid again."""
        self.connection.execute(
            "UPDATE tokens SET kind = ? WHERE network = ? AND token = ?", (REVOKED, self.network, token)
        )

    # The record

    def store_media(self, file: SandboxFile) -> dict[str, str]:
        """Store a file under the hash of its bytes and return its URL for the feed."""
        if file.url is not None:
            return {"url": file.url, "mime": file.mime}
        name = hashlib.sha256(file.data).hexdigest()
        self.connection.execute("INSERT OR IGNORE INTO media VALUES (?, ?, ?)", (name, file.mime, file.data))
        return {"url": f"/_sandbox/media/{name}", "mime": file.mime}

    def publish(
        self,
        remote_id: str,
        text: str,
        *,
        media: Sequence[Mapping[str, str]] = (),
        reply_to: str | None = None,
        title: str | None = None,
        kind: str = "post",
    ) -> None:
        """Append to the record of published posts."""
        self.connection.execute(
            "INSERT INTO published"
            " (epoch, network, account, remote_id, kind, title, text, media, reply_to, published_at)"
            " SELECT max(number), ?, ?, ?, ?, ?, ?, ?, ?, ? FROM epochs",
            (self.network, self.account.handle, remote_id, kind, title, text, json.dumps(list(media)), reply_to,
             format_instant(self.now)),
        )  # fmt: skip


def to_object(row: Any) -> StoredObject:
    name, account, body, kept_at = row
    return StoredObject(name, account, json.loads(body), datetime.fromtimestamp(kept_at, UTC))


def to_account(row: Any) -> SandboxAccount:
    network, handle, remote_id, credentials, blocked = row
    return SandboxAccount(network, handle, remote_id, json.loads(credentials), bool(blocked))


def format_instant(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
