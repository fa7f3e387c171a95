"""Programs' keys and people's names: made, changed and removed by owners. A key is shown once, to who made it."""

import re
import secrets
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.auth.passwords import Passwords
from postino.errors import NotFound, WrongUse
from postino.publishing.shapes import plain
from postino.rules.login_throttle import is_over, worth_noting
from postino.stores.records import Act
from postino.stores.store import Store
from postino.values.auth import ApiKey, Role, User
from postino.values.job import new_id
from postino.vault.digests import SecretDigests

PREFIX = "postino_"
SHOWN = len(PREFIX) + 8  # characters of a key that people may see
KEY_BYTES = 32
MOST_NAME, MOST_BRANDS, MOST_BRAND = 100, 100, 500
SHORTEST_PASSWORD, LONGEST_PASSWORD = 10, 200
USER_NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,99}")
OF_KEYS = "api key"


class People:
    def __init__(self, store: Store, seals: SecretDigests, passwords: Passwords) -> None:
        self.store = store
        self.seals = seals
        self.passwords = passwords

    async def add_key(
        self,
        name: str,
        role: Role,
        *,
        brands: Collection[str] | None = None,
        expires_at: datetime | None = None,
        act: Act,
    ) -> tuple[ApiKey, str]:
        """The key as it is kept, and as it is shown this once."""
        if expires_at is not None and is_over(expires_at, await self.store.now()):
            raise WrongUse("expires_at: that is over already. Give a time to come, or leave it out.", "expires_at")
        text = PREFIX + secrets.token_urlsafe(KEY_BYTES)
        key = ApiKey(
            id=new_id(),
            name=called(name),
            prefix=text[:SHOWN],
            digest=self.seals.digest(OF_KEYS, text),
            role=role,
            brands=brands_from(brands),
            created_by=act.actor,
            expires_at=expires_at,
        )
        return await self.store.add_api_key(key, act), text

    async def key_of(self, text: str) -> ApiKey | None:
        """The key whose text this is, if it still lets in. It is read anew each time: a removed one ends at once."""
        if not text.startswith(PREFIX) or len(text) <= SHOWN or not storable(text[:SHOWN]):
            return None
        likely, now = await self.store.api_keys_by_prefix(text[:SHOWN])
        for key in likely:
            if self.seals.matches(OF_KEYS, text, key.digest) and not is_over(key.expires_at, now):
                if worth_noting(key.last_used_at, now):
                    await self.store.touch_api_key(key.id)
                return key
        return None

    async def add_user(
        self, name: str, role: Role, *, password: str | None = None, brands: Collection[str] | None = None, act: Act
    ) -> User:
        user = User(
            id=new_id(),
            name=user_name(name),
            password=None if password is None else await self.passwords.hash(checked(password)),
            role=role,
            brands=brands_from(brands),
            created_by=act.actor,
        )
        return await self.store.add_user(user, act)

    async def change_user(self, user_id: UUID, changes: dict[str, Any], act: Act) -> User:
        """`password`, `role`, `brands`: what is not there stays as it was."""
        before = await self.store.user(user_id)
        said = dict(changes)
        if said.get("password") is not None:
            said["password"] = await self.passwords.hash(checked(said["password"]))
        if "brands" in said:
            said["brands"] = brands_from(said["brands"])
        return await self.store.change_user(replace(before, **said), [*changes], act)

    async def named(self, name: str) -> User:
        user = await self.store.user_by_name(folded(name))
        if user is None:
            raise NotFound(f"There is no user {name}. The list of users shows those there are.")
        return user


def called(name: str) -> str:
    """What a key is for, in a person's words."""
    if not 0 < len(name.strip()) <= MOST_NAME or not name.isprintable():
        raise WrongUse(f"name: say in 1 to {MOST_NAME} characters on one line what the key is for.", "name")
    return name.strip()


def user_name(name: str) -> str:
    if not USER_NAME.fullmatch(folded(name)):
        told = f"name: a user's name has 1 to {MOST_NAME} of the letters a to z, digits and . _ @ + -"
        raise WrongUse(f"{told}, and begins with a letter or a digit.", "name")
    return folded(name)


def folded(name: str) -> str:
    return unicodedata.normalize("NFC", name.strip()).casefold()


def checked(password: str) -> str:
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        told = f"password: take {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters."
        raise WrongUse(f"{told} Several words in a row are easy to remember.", "password")
    return password


def brands_from(brands: Collection[str] | None) -> frozenset[str] | None:
    if brands is None:
        return None
    if not 0 < len(brands) <= MOST_BRANDS:
        raise WrongUse(f"brands: name 1 to {MOST_BRANDS} of them, or leave it out for all.", "brands")
    for number, brand in enumerate(brands):
        if not 0 < len(brand) <= MOST_BRAND:
            raise WrongUse(f"brands[{number}]: a brand has 1 to {MOST_BRAND} characters.", f"brands[{number}]")
    return frozenset(brands)


def role_named(text: str) -> Role:
    if text not in [*Role]:
        raise WrongUse(f"role: there is no {text[:40]!r}. There are: {', '.join(Role)}.", "role")
    return Role(text)


def storable(text: str) -> bool:
    return text.isascii() and text.isprintable()


def of_key(key: ApiKey) -> dict[str, Any]:
    """As lists show it: without what proves it."""
    return {
        "id": str(key.id),
        "name": key.name,
        "prefix": key.prefix,
        "role": key.role.value,
        "brands": told_brands(key.brands),
        "created_by": key.created_by,
        "created_at": plain(key.created_at),
        "expires_at": plain(key.expires_at),
        "last_used_at": plain(key.last_used_at),
    }


def of_user(user: User) -> dict[str, Any]:
    return {
        "id": str(user.id),
        "name": user.name,
        "role": user.role.value,
        "brands": told_brands(user.brands),
        "has_password": user.password is not None,
        "created_by": user.created_by,
        "created_at": plain(user.created_at),
    }


def told_brands(brands: frozenset[str] | None) -> Sequence[str] | None:
    return None if brands is None else sorted(brands)
