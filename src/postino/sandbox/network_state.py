"""What one network remembers, as one of its calls sees it: its things, tokens, numbers, and the record."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import apsw

REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class File:
    """Bytes that were sent or fetched; `url` where they stay elsewhere."""

    mime: str
    data: bytes = field(repr=False)
    name: str = ""
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Account:
    network: str
    handle: str
    remote_id: str
    credentials: Mapping[str, str] = field(repr=False)
    blocked: bool = False


@dataclass(frozen=True, slots=True)
class Token:
    token: str = field(repr=False)
    account: str
    kind: str
    issued_at: float
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class Thing:
    id: str
    account: str
    body: dict[str, Any]
    kept_at: datetime


class Memory:
    """Valid within one transaction. `account` is who calls, once that is known."""

    def __init__(self, connection: apsw.Connection, network: str, settings: Mapping[str, float]) -> None:
        self.connection = connection
        self.network = network
        self.settings = settings
        self.now = datetime.now(UTC)
        self.caller: Account | None = None
        self.hidden_for = timedelta()

    @property
    def account(self) -> Account:
        assert self.caller is not None, "only endpoints that need no token have no caller"
        return self.caller

    def setting(self, name: str) -> float:
        return self.settings[f"{self.network}_{name}"]

    def elapsed(self, since: datetime, setting: str) -> bool:
        """Whether as many seconds have gone by as are set now: a test that changes the setting turns the clock."""
        return self.now - since >= timedelta(seconds=self.setting(setting))

    def number(self) -> int:
        """Never given before, whatever was reset."""
        value: int = self.connection.execute("UPDATE counter SET value = value + 1 RETURNING value").get
        return value

    # Things

    def keep(self, kind: str, id: str, body: Mapping[str, Any], *, listed: bool = False) -> None:
        visible_at = self.now + self.hidden_for if listed else self.now
        self.connection.execute(
            "INSERT INTO things (network, kind, id, account, body, kept_at, visible_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (self.network, kind, id, self.account.handle, json.dumps(body), self.now.timestamp(),
             visible_at.timestamp()),
        )  # fmt: skip

    def find(self, kind: str, id: str) -> Thing | None:
        rows = self.connection.execute(
            "SELECT id, account, body, kept_at FROM things WHERE network = ? AND kind = ? AND id = ?",
            (self.network, kind, id),
        )
        return next((thing_of(row) for row in rows), None)

    def find_own(self, kind: str, id: str) -> Thing | None:
        found = self.find(kind, id)
        return found if found and found.account == self.account.handle else None

    def change(self, kind: str, id: str, **changes: Any) -> None:
        """Does nothing to what is not there."""
        if found := self.find(kind, id):
            self.replace(kind, id, found.body | changes)

    def replace(self, kind: str, id: str, body: Mapping[str, Any]) -> None:
        self.connection.execute(
            "UPDATE things SET body = ? WHERE network = ? AND kind = ? AND id = ?",
            (json.dumps(body), self.network, kind, id),
        )

    def forget(self, kind: str, id: str) -> None:
        self.connection.execute(
            "DELETE FROM things WHERE network = ? AND kind = ? AND id = ?", (self.network, kind, id)
        )

    def listed(self, kind: str, account: str, *, hidden_too: bool = False) -> list[Thing]:
        """The newest first, as a rule without what is still invisible."""
        rows = self.connection.execute(
            "SELECT id, account, body, kept_at FROM things WHERE network = ? AND kind = ? AND account = ?"
            " AND (? OR visible_at <= ?) ORDER BY number DESC",
            (self.network, kind, account, hidden_too, self.now.timestamp()),
        )
        return [thing_of(row) for row in rows]

    # Uploads in pieces

    def add_piece(self, upload: str, start: int, data: bytes) -> None:
        """Sent again, it takes the place of the first."""
        self.connection.execute(
            "INSERT OR REPLACE INTO pieces VALUES (?, ?, ?, ?)", (self.network, upload, start, data)
        )

    def assembled(self, upload: str) -> bytes:
        rows = self.connection.execute(
            "SELECT bytes FROM pieces WHERE network = ? AND upload = ? ORDER BY start", (self.network, upload)
        )
        return b"".join(data for (data,) in rows)

    def forget_pieces(self, upload: str) -> None:
        self.connection.execute("DELETE FROM pieces WHERE network = ? AND upload = ?", (self.network, upload))

    # Accounts and their tokens

    def account_of(self, name: str) -> Account | None:
        """By handle or remote id."""
        columns = "SELECT network, handle, remote_id, credentials, blocked FROM accounts WHERE network = ?1"
        rows = self.connection.execute(
            f"{columns} AND handle = ?2 UNION ALL {columns} AND remote_id = ?2", (self.network, name)
        )
        return next((account_of(row) for row in rows), None)

    def find_token(self, token: str | None) -> Token | None:
        rows = self.connection.execute(
            "SELECT token, account, kind, issued_at, expires_at FROM tokens WHERE network = ? AND token = ?",
            (self.network, token),
        )
        return next((Token(*row) for row in rows), None)

    def is_over(self, token: Token) -> bool:
        return token.expires_at is not None and token.expires_at <= self.now.timestamp()

    def issue(self, token: str, kind: str, account: str, lifetime: timedelta | None) -> None:
        expires_at = None if lifetime is None else (self.now + lifetime).timestamp()
        self.connection.execute(
            "INSERT OR REPLACE INTO tokens VALUES (?, ?, ?, ?, ?, ?)",
            (self.network, token, account, kind, self.now.timestamp(), expires_at),
        )

    def revoke(self, token: str) -> None:
        """For good: unlike one that only ended, it cannot be let live again."""
        self.connection.execute(
            "UPDATE tokens SET kind = ? WHERE network = ? AND token = ?", (REVOKED, self.network, token)
        )

    # What people see

    def store(self, file: File) -> dict[str, str]:
        """Where the page finds it, under the name of its own bytes."""
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
        """Adds to the record, which nothing ever changes."""
        self.connection.execute(
            "INSERT INTO published"
            " (epoch, network, account, remote_id, kind, title, text, media, reply_to, published_at)"
            " SELECT max(number), ?, ?, ?, ?, ?, ?, ?, ?, ? FROM epochs",
            (self.network, self.account.handle, remote_id, kind, title, text, json.dumps(list(media)), reply_to,
             instant(self.now)),
        )  # fmt: skip


def thing_of(row: Any) -> Thing:
    name, account, body, kept_at = row
    return Thing(name, account, json.loads(body), datetime.fromtimestamp(kept_at, UTC))


def account_of(row: Any) -> Account:
    network, handle, remote_id, credentials, blocked = row
    return Account(network, handle, remote_id, json.loads(credentials), bool(blocked))


def instant(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
