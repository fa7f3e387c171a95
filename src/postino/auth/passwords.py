"""Check, hash and verify passwords, with argon2id.

Verifying takes as long for an unknown user as for a known one.
"""

import asyncio
import secrets
from functools import cached_property
from typing import TYPE_CHECKING

from postino.errors import WrongUse
from postino.rules.password_strength import is_easy_to_guess
from postino.values.text import normalize_unicode

if TYPE_CHECKING:
    from argon2 import PasswordHasher

MIN_LENGTH, MAX_LENGTH = 12, 200
ADVICE = "Several words in a row that have nothing to do with each other are easy to remember."
MAX_CONCURRENT = 2  # each hash needs MEMORY_KIB while it runs
MEMORY_KIB, PASSES, LANES = 19 * 1024, 2, 1


def check_password(password: str, name: str, *, field: str = "password") -> str:
    """Return the password of a user. Raises WrongUse if it is too short, too long or easy to guess."""
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        message = f"{field}: choose {MIN_LENGTH} to {MAX_LENGTH} characters."
        raise WrongUse(f"{message} {ADVICE}", field)
    if is_easy_to_guess(password, name):
        message = (
            f"{field}: it is easy to guess: common words, the user's name, years, runs and repetitions hardly count."
        )
        raise WrongUse(f"{message} {ADVICE}", field)
    return password


class Passwords:
    def __init__(self) -> None:
        self.slots = asyncio.Semaphore(MAX_CONCURRENT)

    @cached_property
    def hasher(self) -> "PasswordHasher":
        from argon2 import PasswordHasher

        return PasswordHasher(time_cost=PASSES, memory_cost=MEMORY_KIB, parallelism=LANES)

    @cached_property
    def dummy_hash(self) -> str:
        """Return a hash to verify if a user does not exist or has no password: the answer then takes as long."""
        return self.hasher.hash(secrets.token_urlsafe(32))

    async def hash(self, password: str) -> str:
        async with self.slots:
            return await asyncio.to_thread(self.hasher.hash, normalize_password(password))

    async def verify(self, password: str, hashed: str | None) -> bool:
        """Return whether the password has this hash. With `None` the answer is always no, after the same work."""
        async with self.slots:
            return await asyncio.to_thread(self.is_correct, password, hashed)

    def is_correct(self, password: str, hashed: str | None) -> bool:
        from argon2.exceptions import Argon2Error, InvalidHashError

        dummy_hash = self.dummy_hash  # computed in either case, so that the first call takes the same time, too
        try:
            self.hasher.verify(dummy_hash if hashed is None else hashed, normalize_password(password))
        except (Argon2Error, InvalidHashError):
            return False
        return hashed is not None

    def is_outdated(self, hashed: str) -> bool:
        return self.hasher.check_needs_rehash(hashed)


def normalize_password(password: str) -> str:
    """Return the password in NFC: keyboards compose the same letters differently."""
    return normalize_unicode(password)
