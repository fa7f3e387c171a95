"""API keys, users and sessions."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from postino.client.types.literals import Role
from postino.client.types.schema import Doc, Timestamp, Uuid


class ApiKeyView(TypedDict):
    """An API key without its secret."""

    id: Annotated[Uuid, Doc("Id of the key.")]
    name: Annotated[str, Doc("Name of the key.")]
    prefix: Annotated[str, Doc("First characters of the key.")]
    role: Annotated[Role, Doc("What the key may do.")]
    brands: Annotated[list[str] | None, Doc("Brands that the key may see; null for all.")]
    job_types: Annotated[list[str] | None, Doc("Types of jobs that the key may queue; null for all.")]
    created_by: Annotated[str, Doc("Who created the key.")]
    created_at: Annotated[Timestamp, Doc("When the key was created.")]
    expires_at: Annotated[Timestamp | None, Doc("When the key expires; null for never.")]
    last_used_at: Annotated[Timestamp | None, Doc("When the key was last used.")]


class CreatedApiKeyView(ApiKeyView):
    """A new API key with its secret."""

    key: Annotated[str, Doc("The secret. Postino never shows it again.")]
    notes: Annotated[list[str], Doc("Notes about the key.")]


class UserView(TypedDict):
    """A person who can sign in."""

    id: Annotated[Uuid, Doc("Id of the user.")]
    name: Annotated[str, Doc("Name of the user.")]
    role: Annotated[Role, Doc("What the user may do.")]
    brands: Annotated[list[str] | None, Doc("Brands that the user may see; null for all.")]
    has_password: Annotated[bool, Doc("False if the user can only sign in with a link.")]
    created_by: Annotated[str, Doc("Who created the user.")]
    created_at: Annotated[Timestamp, Doc("When the user was created.")]


class SignInLinkView(TypedDict):
    """A link that signs a user in once."""

    name: Annotated[str, Doc("Name of the user.")]
    path: Annotated[str, Doc("Path of the link on this server.")]


class CallerView(TypedDict):
    """Who made the request."""

    name: Annotated[str, Doc("The caller, such as `user:anna` or `key:ci`.")]
    role: Annotated[Role, Doc("What the caller may do.")]
    brands: Annotated[list[str] | None, Doc("Brands that the caller may see; null for all.")]
    job_types: Annotated[list[str] | None, Doc("Types of jobs that the caller may queue; null for all.")]
    csrf_token: NotRequired[Annotated[str, Doc("CSRF token of the browser session.")]]
    expires_at: NotRequired[Annotated[Timestamp, Doc("When the browser session expires if it is not used again.")]]


class SessionView(TypedDict):
    """A new browser session."""

    name: Annotated[str, Doc("Name of the user.")]
    role: Annotated[Role, Doc("What the user may do.")]
    brands: Annotated[list[str] | None, Doc("Brands that the user may see; null for all.")]
    job_types: Annotated[list[str] | None, Doc("Types of jobs that the user may queue; null for all.")]
    csrf_token: Annotated[str, Doc("CSRF token; send it with every request that changes something.")]
    expires_at: Annotated[Timestamp, Doc("When the session expires if it is not used again.")]
