"""A store on a clock that the test turns, and the people who come in there."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from postino.auth.passwords import Passwords
from postino.auth.sign_in import SignInService
from postino.auth.users import People
from postino.stores.records import Act
from postino.stores.sqlite import Sqlite
from postino.stores.store import Store
from postino.vault.digests import SecretDigests
from tests.contract.databases import Clock

ME = Act("maria", "because")


@dataclass
class Office:
    store: Store
    clock: Clock
    keys: list[bytes] = field(default_factory=lambda: [secrets.token_bytes(32)])

    def __post_init__(self) -> None:
        self.seals, self.passwords = SecretDigests(lambda: self.keys), Passwords()
        self.people = People(self.store, self.seals, self.passwords)
        self.signing_in = SignInService(self.store, self.seals, self.passwords)

    async def trail(self) -> list[tuple[str, str]]:
        return [(line.actor, line.action) for line in reversed(await self.store.audit(1000))]


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Office]:
    clock = Clock(datetime.now(UTC))
    store = Store(Sqlite(folder / "postino.db", clock=clock))
    await store.migrate()
    try:
        yield Office(store, clock)
    finally:
        await store.close()


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())
