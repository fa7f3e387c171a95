"""Quotas: reserve what a visible call costs before it leaves, and release it if the call never left."""

from collections.abc import Mapping, Sequence

from postino.engine.store_retry import retry_store
from postino.rules.quota import Quota, get_cost
from postino.stores.store import Store
from postino.values.gate import Gate
from postino.values.job import Job


class QuotaMeter:
    """Reserves and releases the quotas of networks."""

    def __init__(self, store: Store, quotas: Mapping[str, Sequence[Quota]]) -> None:
        self.store = store
        self.quotas = quotas  # by channel

    async def reserve(self, job: Job, step: str, number: int) -> Gate | None:
        """Reserve what this call costs. Return the gate to wait for if a quota is used up."""
        quotas = [quota for quota in self.quotas.get(job.channel, ()) if get_cost(quota, step)]
        if not quotas:
            return None
        return await retry_store(lambda _: self.store.reserve_quota(job, step, number, quotas))

    async def release(self, job: Job, step: str, number: int) -> None:
        """Release the reservation of a call that never left."""
        if self.quotas.get(job.channel):
            await retry_store(lambda _: self.store.release_quota(job, step, number))
