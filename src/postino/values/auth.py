"""The contract of a store about people and programs: who they are, what they may do, and how they prove it.

Nothing here holds a password, a key or a session's secret: only what proves that somebody else has it.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class Role(StrEnum):
    """What one may do: everything; publish and decide; look."""

    OWNER = "owner"
    EDITOR = "editor"
    VIEWER = "viewer"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A program's way in. `prefix` is how people tell keys apart, `digest` what proves the rest."""

    id: UUID
    name: str
    prefix: str
    digest: str = field(repr=False)
    role: Role
    brands: frozenset[str] | None = None  # None: all of them, and what has none
    created_by: str = ""
    created_at: datetime | None = None
    expires_at: datetime | None = None
    last_used_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A person. Without a password only a sign-in link lets them in."""

    id: UUID
    name: str
    password: str | None = field(default=None, repr=False)  # argon2id, never the word itself
    role: Role
    brands: frozenset[str] | None = None
    created_by: str = ""
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A browser that is signed in; or, while nobody has followed it, a link that signs one in."""

    id: UUID
    user_id: UUID
    digest: str = field(repr=False)
    expires_at: datetime
    created_at: datetime | None = None
    seen_at: datetime | None = None
