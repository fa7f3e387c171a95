"""Who asks: set by whoever let the request in, read by every route that shows or changes something."""

from dataclasses import dataclass
from enum import StrEnum

from fastapi import Request

from postino.errors import NotFound


class Role(StrEnum):
    """What one may do: everything; publish and decide; look."""

    OWNER = "owner"
    EDITOR = "editor"
    VIEWER = "viewer"


@dataclass(frozen=True, slots=True)
class Caller:
    """`name` is for the audit trail; `key` is whose idempotency keys these are."""

    name: str
    key: str
    role: Role = Role.OWNER
    brands: frozenset[str] | None = None  # None: all of them, and what has none

    def sees(self, brand: str | None) -> bool:
        return self.brands is None or brand in self.brands

    def check_sees(self, brand: str | None, refusal: str) -> None:
        """Of another's things nobody hears even that they are there."""
        if not self.sees(brand):
            raise NotFound(refusal)


def caller_of(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller
