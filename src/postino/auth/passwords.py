"""Passwords, as argon2id. Whether there is such a user at all takes as long to find out as whether it is their word."""

import asyncio
import secrets
import unicodedata
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argon2 import PasswordHasher

AT_ONCE = 2  # each takes its memory while it is looked at
MEMORY_KIB, PASSES, LANES = 19 * 1024, 2, 1


class Passwords:
    def __init__(self) -> None:
        self.room = asyncio.Semaphore(AT_ONCE)

    @cached_property
    def hasher(self) -> "PasswordHasher":
        from argon2 import PasswordHasher

        return PasswordHasher(time_cost=PASSES, memory_cost=MEMORY_KIB, parallelism=LANES)

    @cached_property
    def nobodys(self) -> str:
        """The password of whoever has none."""
        return self.hasher.hash(secrets.token_urlsafe(32))

    async def hash(self, password: str) -> str:
        async with self.room:
            return await asyncio.to_thread(self.hasher.hash, composed(password))

    async def verify(self, password: str, hashed: str | None) -> bool:
        async with self.room:
            return await asyncio.to_thread(self.is_right, password, hashed)

    def is_right(self, password: str, hashed: str | None) -> bool:
        from argon2.exceptions import Argon2Error, InvalidHashError

        nobodys = self.nobodys
        try:
            self.hasher.verify(nobodys if hashed is None else hashed, composed(password))
        except (Argon2Error, InvalidHashError):
            return False
        return hashed is not None

    def is_outdated(self, hashed: str) -> bool:
        return self.hasher.check_needs_rehash(hashed)


def composed(password: str) -> str:
    """The same word, whichever keyboard composed its letters."""
    return unicodedata.normalize("NFC", password)
