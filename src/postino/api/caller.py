"""Who sends a request, and which brands they may see."""

from collections.abc import Callable
from dataclasses import dataclass, field

from postino.auth.sign_in import BrowserSession
from postino.errors import NotFound
from postino.values.auth import ApiKey, Role

CALLER = "postino.caller"  # the key of the caller in the scope of a request
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Caller:
    """`name` is written to the audit trail; `key` scopes idempotency keys and imports."""

    name: str
    key: str
    role: Role = Role.OWNER
    brands: frozenset[str] | None = None  # None: all brands, and what has none
    job_types: frozenset[str] | None = None  # that they may queue; None: all
    session: BrowserSession | None = field(default=None, compare=False)
    progress: Progress | None = field(default=None, compare=False)  # only for a caller in this process

    def can_see(self, brand: str | None) -> bool:
        return self.brands is None or brand in self.brands

    def may_queue(self, job_type: str) -> bool:
        return self.job_types is None or job_type in self.job_types

    def check_can_see(self, brand: str | None, message: str) -> None:
        """Raise NotFound for a thing of another brand: callers must not learn that it exists."""
        if not self.can_see(brand):
            raise NotFound(message)


ANONYMOUS = Caller("anonymous", "anonymous", Role.VIEWER, frozenset(), frozenset())


def from_api_key(key: ApiKey) -> Caller:
    return Caller(f"key:{key.name}", str(key.id), key.role, key.brands, key.job_types)


def from_session(session: BrowserSession) -> Caller:
    user = session.user
    job_types = None if user.role is Role.OWNER else frozenset[str]()
    return Caller(f"user:{user.name}", f"user:{user.id}", user.role, user.brands, job_types, session)
