"""What a visible call may cost, and what to do when a network says that it was too much."""

from collections.abc import Mapping, Sequence

from postino.engine.circuits import CircuitMonitor
from postino.engine.enqueue import retry_store
from postino.rules.quota import Quota, cost_of
from postino.stores.store import Store
from postino.values.gate import Gate, Scope
from postino.values.job import Job
from postino.values.provider import Failure


class QuotaMeter:
    """Reserves before a call, and cools down whoever called too often."""

    def __init__(self, store: Store, quotas: Mapping[str, Sequence[Quota]], circuits: CircuitMonitor) -> None:
        self.store = store
        self.quotas = quotas  # by channel
        self.circuits = circuits

    async def reserve(self, job: Job, step: str, number: int) -> Gate | None:
        costly = [quota for quota in self.quotas.get(job.channel, ()) if cost_of(quota, step)]
        if not costly:
            return None

        async def spend(_: bool) -> Gate | None:
            return await self.store.reserve_quota(job, step, number, costly)

        return await retry_store(spend)

    async def give_back(self, job: Job, step: str, number: int) -> None:
        async def unspend(_: bool) -> None:
            await self.store.release_quota(job, step, number)

        if self.quotas.get(job.channel):
            await retry_store(unspend)

    async def cool(self, job: Job, failure: Failure) -> Gate:
        """The account, or everybody where the network says so."""
        everyone = failure.everyone or job.account is None
        scope, name = (Scope.CHANNEL, job.channel) if everyone else (Scope.ACCOUNT, job.account or "")

        async def cool(_: bool) -> Gate:
            return await self.store.start_cooldown(scope, name, failure.until, failure.message)

        gate = await retry_store(cool)
        if everyone:
            self.circuits.cooled(gate)
        return gate
