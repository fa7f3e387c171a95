"""The part of the store that is about the whole: operations on a driver."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from postino.event import Cursor
from postino.overview import BrandCount, Spending
from postino.rules.quota import Spent
from postino.rules.stats import Ended
from postino.rules.troubles import Trouble
from postino.stores.driver import Driver
from postino.stores.operations import stats


class SqlStats:
    driver: Driver

    async def clock(self) -> datetime:
        return await self.driver.read(stats.clock())

    async def ended(
        self, since_at: datetime, most: int, *, network: str | None = None, brands: Sequence[str] | None = None
    ) -> Sequence[Ended]:
        return await self.driver.read(stats.ended(since_at, most, network, brands))

    async def brands(self) -> Sequence[str]:
        return await self.driver.read(stats.brands())

    async def brand_counts(self, brands: Sequence[str], most: int) -> Sequence[BrandCount]:
        return await self.driver.read(stats.brand_counts(brands, most))

    async def troubles(self, most: int, brands: Sequence[str] | None = None) -> Sequence[Trouble]:
        return await self.driver.read(stats.troubles(most, brands))

    async def spent(self, wanted: Sequence[Spending]) -> Sequence[Sequence[Spent]]:
        return await self.driver.read(stats.spent(wanted))

    async def last_event(self) -> Cursor:
        return await self.driver.read(stats.last_event())

    async def brands_of(self, job_ids: Sequence[UUID]) -> Mapping[UUID, str | None]:
        return await self.driver.read(stats.brands_of(job_ids))
