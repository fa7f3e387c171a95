"""The contract of a store about the whole: how posts went, brands, what failed alike, where events end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from postino.event import Cursor
from postino.job import State
from postino.rules.quota import Spent
from postino.rules.stats import Ended
from postino.rules.troubles import Trouble


@dataclass(frozen=True, slots=True)
class BrandCount:
    """How many posts of a brand are in a state; counting stops where it would take long."""

    brand: str
    state: State
    posts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What was spent of a quota since a time: an account's, or that of all together, whose account is ''."""

    channel: str
    quota: str
    account: str
    since_at: datetime


class OverviewStore(Protocol):
    async def clock(self) -> datetime: ...
    async def ended(
        self, since_at: datetime, most: int, *, network: str | None = None, brands: Sequence[str] | None = None
    ) -> Sequence[Ended]:
        """The posts that ended since then, the latest first; of the latest so many, those that are asked for."""
        ...

    async def brands(self) -> Sequence[str]:
        """Those that posts and jobs have, whatever accounts say."""
        ...

    async def brand_counts(self, brands: Sequence[str], most: int) -> Sequence[BrandCount]: ...
    async def troubles(self, most: int, brands: Sequence[str] | None = None) -> Sequence[Trouble]:
        """The open dead letters, of the latest so many, together where they say the same."""
        ...

    async def spent(self, wanted: Sequence[Spending]) -> Sequence[Sequence[Spent]]: ...
    async def last_event(self) -> Cursor:
        """Where the events end that can be read now."""
        ...

    async def brands_of(self, job_ids: Sequence[UUID]) -> Mapping[UUID, str | None]: ...
