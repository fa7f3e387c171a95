"""What a visible call may cost, and what to do when a network says that it was too much."""

from collections.abc import Mapping, Sequence

from postino.engine.circuits import Circuits
from postino.engine.crashpoints import crashpoint
from postino.engine.enqueue import surely
from postino.gate import Gate, Scope
from postino.job import Job
from postino.provider import Failure
from postino.rules.quota import Quota, cost_of
from postino.store import Store


class Meter:
    """Reserves before a call, and cools down whoever called too often."""

    def __init__(self, store: Store, quotas: Mapping[str, Sequence[Quota]], circuits: Circuits) -> None:
        self.store = store
        self.quotas = quotas  # by channel
        self.circuits = circuits

    async def reserve(self, job: Job, step: str, number: int) -> Gate | None:
        costly = [quota for quota in self.quotas.get(job.channel, ()) if cost_of(quota, step)]
        if not costly:
            return None

        async def spend(_: bool) -> Gate | None:
            crashpoint("spend.before")
            gate = await self.store.spend(job, step, number, costly)
            crashpoint("spend.after")
            return gate

        return await surely(spend)

    async def give_back(self, job: Job, step: str, number: int) -> None:
        async def unspend(_: bool) -> None:
            crashpoint("unspend.before")
            await self.store.unspend(job, step, number)
            crashpoint("unspend.after")

        if self.quotas.get(job.channel):
            await surely(unspend)

    async def cool(self, job: Job, failure: Failure) -> Gate:
        """The account, or everybody where the network says so."""
        everyone = failure.everyone or job.account is None
        scope, name = (Scope.CHANNEL, job.channel) if everyone else (Scope.ACCOUNT, job.account or "")

        async def cool(_: bool) -> Gate:
            crashpoint("cool.before")
            gate = await self.store.cool(scope, name, failure.until, failure.message)
            crashpoint("cool.after")
            return gate

        gate = await surely(cool)
        if everyone:
            self.circuits.cooled(gate)
        return gate
