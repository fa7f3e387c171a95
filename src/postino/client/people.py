"""Who may come in: programs by their keys, and people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from postino.client.endpoints import Resource, SessionT, call, paginate
from postino.client.messages import ApiRequest, delete, get, post, send
from postino.client.people_shapes import ApiKey, NewApiKey, SignInLink, User
from postino.client.wishes import Id, Instant, UserChanges
from postino.client.words import Page


class ApiKeys(Resource[SessionT]):
    @call
    def add(
        self,
        name: str,
        role: str,
        *,
        brands: Sequence[str] | None = None,
        expires_at: Instant | None = None,
        timezone: str | None = None,
        reason: str = "",
    ) -> ApiRequest[NewApiKey]:
        """A new one; its `key` is shown this once."""
        only = None if brands is None else [*brands]
        when: dict[str, Any] = {"expires_at": expires_at, "timezone": timezone}
        return post("api-keys", name=name, role=role, brands=only, **when, reason=reason)

    @paginate
    def each(self, *, limit: int | None = None) -> ApiRequest[Page[ApiKey]]:
        """All of them, the oldest first."""
        return get("api-keys", limit=limit)

    @call
    def remove(self, key_id: Id, *, reason: str = "") -> ApiRequest[ApiKey]:
        """From the next request on it lets nobody in."""
        return delete("api-keys", key_id, reason=reason)


class Users(Resource[SessionT]):
    @call
    def add(
        self,
        name: str,
        role: str,
        *,
        password: str | None = None,
        brands: Sequence[str] | None = None,
        reason: str = "",
    ) -> ApiRequest[User]:
        """Somebody who may come in; without a password by links only."""
        only = None if brands is None else [*brands]
        return post("users", name=name, role=role, password=password, brands=only, reason=reason)

    @paginate
    def each(self, *, limit: int | None = None) -> ApiRequest[Page[User]]:
        """All of them, the oldest first."""
        return get("users", limit=limit)

    @call
    def get(self, user_id: Id) -> ApiRequest[User]:
        return get("users", user_id)

    @call
    def change(self, user_id: Id, **changes: Unpack[UserChanges]) -> ApiRequest[User]:
        """Their role, brands or password; what is left out stays."""
        return send("PATCH", "users", user_id, body=changes)

    @call
    def link(self, user_id: Id, *, reason: str = "") -> ApiRequest[SignInLink]:
        """Where they are signed in, once, within ten minutes."""
        return post("users", user_id, "link", reason=reason)

    @call
    def remove(self, user_id: Id, *, reason: str = "") -> ApiRequest[User]:
        """They are signed out at once."""
        return delete("users", user_id, reason=reason)
