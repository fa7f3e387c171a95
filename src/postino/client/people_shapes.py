"""What is told of those who ask: keys, people, and who they are right now."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from postino.client.words import At, Role, Uuid


class ApiKey(TypedDict):
    """A program's way in, by its beginning. Without `brands` it is for all of them."""

    id: Uuid
    name: str
    prefix: str
    role: Role
    brands: list[str] | None
    created_by: str
    created_at: At
    expires_at: At | None
    last_used_at: At | None


class NewApiKey(ApiKey):
    """A key that was just made; `key` is shown this once."""

    key: str
    notes: list[str]


class User(TypedDict):
    """A person who may come in. Without a password only a sign-in link lets them in."""

    id: Uuid
    name: str
    role: Role
    brands: list[str] | None
    has_password: bool
    created_by: str
    created_at: At


class SignInLink(TypedDict):
    """Where somebody is signed in, once: `path` at the address of the server."""

    name: str
    path: str


class Me(TypedDict):
    """Who asks, and what they may do; a browser also hears what its changes need."""

    name: str
    role: Role
    brands: list[str] | None
    csrf_token: NotRequired[str]
    expires_at: NotRequired[At]


class SignedIn(TypedDict):
    """A browser that came in: `csrf_token` goes with each of its changes."""

    name: str
    role: Role
    brands: list[str] | None
    csrf_token: str
    expires_at: At
