"""Users: create, change and find them. Passwords are stored as argon2id hashes only."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any
from uuid import UUID

from postino.auth.passwords import Passwords, check_password
from postino.auth.user_checks import check_user_name, normalize_name, parse_brands
from postino.errors import NotFound
from postino.stores.records import AuditContext
from postino.stores.store import Store
from postino.values.auth import Role, User
from postino.values.job import new_id


class UserService:
    def __init__(self, store: Store, passwords: Passwords) -> None:
        self.store = store
        self.passwords = passwords

    async def add(
        self,
        name: str,
        role: Role,
        *,
        password: str | None = None,
        brands: Collection[str] | None = None,
        act: AuditContext,
    ) -> User:
        """Create a user. Without a password only a sign-in link signs them in."""
        checked_name = check_user_name(name)
        user = User(
            id=new_id(),
            name=checked_name,
            password=None if password is None else await self.passwords.hash(check_password(password, checked_name)),
            role=role,
            brands=parse_brands(brands),
            created_by=act.actor,
        )
        return await self.store.add_user(user, act)

    async def change(self, user_id: UUID, changes: dict[str, Any], act: AuditContext) -> User:
        """Change `password`, `role` or `brands`. A field that is absent keeps its value."""
        before = await self.store.user(user_id)
        values = dict(changes)
        if values.get("password") is not None:
            values["password"] = await self.passwords.hash(check_password(values["password"], before.name))
        if "brands" in values:
            values["brands"] = parse_brands(values["brands"])
        return await self.store.change_user(replace(before, **values), [*changes], act)

    async def get_by_name(self, name: str) -> User:
        user = await self.store.user_by_name(normalize_name(name))
        if user is None:
            raise NotFound(f"User {name} does not exist. Run `postino users list` to see all users.")
        return user
