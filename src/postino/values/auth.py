"""Users, API keys and sessions, as the store keeps them.

They hold digests only, never a password, an API key or a session secret.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class Role(StrEnum):
    """What a caller may do: administer, publish, or read."""

    OWNER = "owner"
    EDITOR = "editor"
    VIEWER = "viewer"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """An API key of a program. People recognise it by its `prefix`; `digest` verifies the rest."""

    id: UUID
    name: str
    prefix: str
    digest: str = field(repr=False)
    role: Role
    brands: frozenset[str] | None = None  # None: all brands, and what has no brand
    job_types: frozenset[str] | None = frozenset()  # that it may queue; None: all
    created_by: str = ""
    created_at: datetime | None = None
    expires_at: datetime | None = None
    last_used_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A person. Without a password, only a sign-in link gives access."""

    id: UUID
    name: str
    password: str | None = field(default=None, repr=False)  # an argon2id hash
    role: Role
    brands: frozenset[str] | None = None
    created_by: str = ""
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A browser session, or a sign-in link that nobody has used yet."""

    id: UUID
    user_id: UUID
    digest: str = field(repr=False)
    expires_at: datetime
    created_at: datetime | None = None
    seen_at: datetime | None = None
