"""Cooldowns: after a rate limit, workers make no calls for the account, or for the whole network, until a time."""

from postino import clock
from postino.engine.circuit_monitor import CircuitMonitor
from postino.engine.store_retry import retry_store
from postino.stores.store import Store
from postino.values.gate import Gate, Scope
from postino.values.job import Job
from postino.values.provider import Failure


async def start_cooldown(store: Store, circuits: CircuitMonitor, job: Job, failure: Failure) -> Gate:
    """Close a gate for the job's account, or for its whole channel where the network limits all accounts together."""
    whole_channel = failure.everyone or job.account is None
    scope, name = (Scope.CHANNEL, job.channel) if whole_channel else (Scope.ACCOUNT, job.account or "")
    asked_at = clock.now()  # by the clock of the network's file
    gate = await retry_store(lambda _: store.start_cooldown(scope, name, failure.until, failure.message, asked_at))
    if whole_channel:
        circuits.add_cooldown(gate)
    return gate
