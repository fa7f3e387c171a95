"""Users: people who can sign in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from postino.client.endpoints import Resource, SessionT, call, paginate
from postino.client.messages import ApiRequest, delete, get, post, send
from postino.client.types.auth import SignInLinkView, UserView
from postino.client.types.requests import Id, UserChanges
from postino.client.types.schema import Page


class Users(Resource[SessionT]):
    """Add, change and remove users."""

    @call
    def add(
        self,
        name: str,
        role: str,
        *,
        password: str | None = None,
        brands: Sequence[str] | None = None,
        reason: str = "",
    ) -> ApiRequest[UserView]:
        """Add a user. Without a password the user can only sign in with a link."""
        names = None if brands is None else [*brands]
        return post("users", name=name, role=role, password=password, brands=names, reason=reason)

    @paginate
    def iterate(self, *, limit: int | None = None) -> ApiRequest[Page[UserView]]:
        """Iterate over all users, oldest first."""
        return get("users", limit=limit)

    @call
    def get(self, user_id: Id) -> ApiRequest[UserView]:
        """Return one user."""
        return get("users", user_id)

    @call
    def change(self, user_id: Id, **changes: Unpack[UserChanges]) -> ApiRequest[UserView]:
        """Change the role, brands or password of a user. Fields that are not passed stay."""
        return send("PATCH", "users", user_id, body=changes)

    @call
    def change_password(self, name: str, password: str, new_password: str, *, reason: str = "") -> ApiRequest[UserView]:
        """Give a user who knows the present password a new one, and end all their sessions."""
        return post("login", "password", name=name, password=password, new_password=new_password, reason=reason)

    @call
    def link(self, user_id: Id, *, reason: str = "") -> ApiRequest[SignInLinkView]:
        """Create a link that signs the user in once, within ten minutes."""
        return post("users", user_id, "link", reason=reason)

    @call
    def remove(self, user_id: Id, *, reason: str = "") -> ApiRequest[UserView]:
        """Remove a user and end their sessions."""
        return delete("users", user_id, reason=reason)
