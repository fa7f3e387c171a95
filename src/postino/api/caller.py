"""Who asks: set by whoever let the request in, read by every route that shows or changes something."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from postino.auth.sign_in import BrowserSession
from postino.errors import NotFound
from postino.values.auth import ApiKey, Role

__all__ = ["Asking", "Caller", "Progress", "Role", "caller_of"]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Caller:
    """`name` is for the audit trail; `key` is whose idempotency keys these are."""

    name: str
    key: str
    role: Role = Role.OWNER
    brands: frozenset[str] | None = None  # None: all of them, and what has none
    signed_in: BrowserSession | None = field(default=None, compare=False)
    hears: Progress | None = field(default=None, compare=False)  # how far something is: only who waits alone hears that

    def sees(self, brand: str | None) -> bool:
        return self.brands is None or brand in self.brands

    def check_sees(self, brand: str | None, refusal: str) -> None:
        """Of another's things nobody hears even that they are there."""
        if not self.sees(brand):
            raise NotFound(refusal)


def of_key(key: ApiKey) -> Caller:
    return Caller(f"key:{key.name}", str(key.id), key.role, key.brands)


def of_session(signed_in: BrowserSession) -> Caller:
    user = signed_in.user
    return Caller(f"user:{user.name}", f"user:{user.id}", user.role, user.brands, signed_in)


Still = Callable[[], Awaitable[bool]]


def still_of(request: Request) -> Still:
    """Whether this caller would be let in again, as the same: for requests that go on for long."""
    still: Still = request.state.still
    return still


async def always() -> bool:
    return True


def caller_of(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


async def asking(request: Request) -> Caller:
    """The same for a route's signature: a plain function there would cost every request a thread."""
    return caller_of(request)


Asking = Annotated[Caller, Depends(asking)]


class Known:
    """Lets in one who needs no key, because they are inside already."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller

    async def __call__(self, request: Request) -> None:
        request.state.caller, request.state.still = self.caller, always
