"""Who may come in: programs by their keys, and people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from postino.client.messages import Request, get, post, remove, send
from postino.client.people_shapes import ApiKey, NewApiKey, SignInLink, User
from postino.client.ways import Room, Way, asks, walks
from postino.client.wishes import Id, Instant, UserChanges
from postino.client.words import Page


class ApiKeys(Room[Way]):
    @asks
    def add(
        self,
        name: str,
        role: str,
        *,
        brands: Sequence[str] | None = None,
        expires_at: Instant | None = None,
        timezone: str | None = None,
        reason: str = "",
    ) -> Request[NewApiKey]:
        """A new one; its `key` is shown this once."""
        only = None if brands is None else [*brands]
        when: dict[str, Any] = {"expires_at": expires_at, "timezone": timezone}
        return post("api-keys", name=name, role=role, brands=only, **when, reason=reason)

    @walks
    def each(self, *, limit: int | None = None) -> Request[Page[ApiKey]]:
        """All of them, the oldest first."""
        return get("api-keys", limit=limit)

    @asks
    def remove(self, key_id: Id, *, reason: str = "") -> Request[ApiKey]:
        """From the next request on it lets nobody in."""
        return remove("api-keys", key_id, reason=reason)


class Users(Room[Way]):
    @asks
    def add(
        self,
        name: str,
        role: str,
        *,
        password: str | None = None,
        brands: Sequence[str] | None = None,
        reason: str = "",
    ) -> Request[User]:
        """Somebody who may come in; without a password by links only."""
        only = None if brands is None else [*brands]
        return post("users", name=name, role=role, password=password, brands=only, reason=reason)

    @walks
    def each(self, *, limit: int | None = None) -> Request[Page[User]]:
        """All of them, the oldest first."""
        return get("users", limit=limit)

    @asks
    def get(self, user_id: Id) -> Request[User]:
        return get("users", user_id)

    @asks
    def change(self, user_id: Id, **changes: Unpack[UserChanges]) -> Request[User]:
        """Their role, brands or password; what is left out stays."""
        return send("PATCH", "users", user_id, body=changes)

    @asks
    def link(self, user_id: Id, *, reason: str = "") -> Request[SignInLink]:
        """Where they are signed in, once, within ten minutes."""
        return post("users", user_id, "link", reason=reason)

    @asks
    def remove(self, user_id: Id, *, reason: str = "") -> Request[User]:
        """They are signed out at once."""
        return remove("users", user_id, reason=reason)
