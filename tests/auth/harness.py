"""The auth services on a SQLite store whose clock the test controls."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from postino.auth.api_keys import KeyService
from postino.auth.passwords import Passwords
from postino.auth.sign_in import SignInService
from postino.auth.users import UserService
from postino.stores.records import AuditContext
from postino.stores.sqlite import Sqlite
from postino.stores.store import Store
from postino.vault.digests import SecretDigests
from tests.contract.databases import Clock

ME = AuditContext("maria", "because")


@dataclass
class AuthHarness:
    store: Store
    clock: Clock
    keys: list[bytes] = field(default_factory=lambda: [secrets.token_bytes(32)])

    def __post_init__(self) -> None:
        self.digests, self.passwords = SecretDigests(self.load_keys, self.load_keys), Passwords()
        self.users = UserService(self.store, self.passwords)
        self.api_keys = KeyService(self.store, self.digests)
        self.sign_in = SignInService(self.store, self.digests, self.passwords)

    async def load_keys(self) -> list[bytes]:
        return self.keys

    async def audit_trail(self) -> list[tuple[str, str]]:
        return [(line.actor, line.action) for line in reversed(await self.store.audit(1000))]


@asynccontextmanager
async def open_auth(folder: Path) -> AsyncIterator[AuthHarness]:
    clock = Clock(datetime.now(UTC))
    store = Store(Sqlite(folder / "postino.db", clock=clock))
    await store.migrate()
    try:
        yield AuthHarness(store, clock)
    finally:
        await store.close()


def read_all_files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())
