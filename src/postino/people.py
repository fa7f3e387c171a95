"""The contract of a store about people and programs: who they are, what they may do, and how they prove it.

Nothing here holds a password, a key or a session's secret: only what proves that somebody else has it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from postino.rules.throttling import Patience


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


class PeopleStore(Protocol):
    """Every change leaves a line in the audit trail, in its own transaction."""

    async def add_api_key(self, key: ApiKey, act: Any) -> ApiKey: ...
    async def remove_api_key(self, key_id: UUID, act: Any) -> ApiKey: ...
    async def api_keys(self, after: UUID | None, limit: int) -> Sequence[ApiKey]: ...
    async def api_keys_like(self, prefix: str) -> tuple[Sequence[ApiKey], datetime]:
        """Those that begin like this, and what time it is."""
        ...

    async def use_api_key(self, key_id: UUID) -> None: ...

    async def add_user(self, user: User, act: Any) -> User: ...
    async def change_user(self, user: User, changed: Sequence[str], act: Any) -> User:
        """Only what is named is taken; with another password, all sessions of theirs end."""
        ...

    async def remove_user(self, user_id: UUID, act: Any) -> User: ...
    async def renew_password(self, user_id: UUID, password: str) -> None:
        """The same password, proven in a newer way."""
        ...

    async def user(self, user_id: UUID) -> User: ...
    async def user_named(self, name: str) -> User | None: ...
    async def users(self, after: UUID | None, limit: int) -> Sequence[User]: ...

    async def begin_login(self, tries: Mapping[str, Patience]) -> datetime | None:
        """Counts a try against each of these before it is made; or tells until when there may be none."""
        ...

    async def forgive_login(self, forgotten: str, one_less: str) -> None:
        """The try was good: nothing is held against the one any more, and this try not against the other."""
        ...

    async def start_session(self, session: Session, act: Any) -> Session: ...
    async def session(self, session_id: UUID) -> tuple[Session, User, datetime] | None: ...
    async def see_session(self, session_id: UUID) -> None: ...
    async def end_session(self, session_id: UUID, act: Any) -> bool: ...
    async def add_sign_in(self, link: Session, act: Any) -> None: ...
    async def sign_in(self, link_id: UUID) -> tuple[Session, User, datetime] | None: ...
    async def take_sign_in(self, link_id: UUID, session: Session, act: Any) -> Session | None:
        """A session in the link's place, once."""
        ...

    async def audit_page(self, before: int | None, limit: int) -> Sequence[Any]:
        """The newest lines first."""
        ...

    async def audit_after(self, seq: int, limit: int) -> Sequence[Any]:
        """The oldest lines first."""
        ...

    async def now(self) -> datetime:
        """The store's own time, which expiries are compared with."""
        ...
