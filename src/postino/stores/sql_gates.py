"""The part of the store that is about gates: operations on a driver."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from postino.gate import Gate, Scope
from postino.job import Job
from postino.rules.blackout import Blackout
from postino.rules.breaker import Breaker, BreakerPolicy
from postino.rules.gates import Known
from postino.rules.quota import Quota
from postino.store import Act
from postino.stores.driver import Driver
from postino.stores.operations import gates
from postino.stores.operations import quotas as quotas_desk


class SqlGates:
    def __init__(self, driver: Driver) -> None:
        self.driver = driver

    async def pause(self, scope: Scope, name: str, act: Act) -> Gate:
        return await self.driver.transact(gates.pause(scope, name, act))

    async def resume(self, scope: Scope, name: str, act: Act) -> Gate:
        return await self.driver.transact(gates.resume(scope, name, act))

    async def cap(self, channel: str, most: int | None, act: Act) -> int | None:
        return await self.driver.transact(gates.cap(channel, most, act))

    async def usual_caps(self, caps: Mapping[str, int]) -> None:
        await self.driver.perform(gates.usual_caps(caps))

    async def cool(self, scope: Scope, name: str, asked_until_at: datetime | None, reason: str) -> Gate:
        return await self.driver.transact(gates.cool(scope, name, asked_until_at, reason))

    async def warm(self, scope: Scope, name: str, act: Act) -> Gate:
        return await self.driver.transact(gates.warm(scope, name, act))

    async def answered(self, service: str, healthy: bool, policy: BreakerPolicy, why: str | None) -> Breaker:
        return await self.driver.transact(gates.answered(service, healthy, policy, why))

    async def half_open(self, service: str) -> None:
        await self.driver.transact(gates.half_open([service]))

    async def open_circuit(self, service: str, until_at: datetime | None, probes: int, act: Act) -> Breaker:
        return await self.driver.transact(gates.open_circuit(service, until_at, probes, act))

    async def close_circuit(self, service: str, act: Act) -> Breaker:
        return await self.driver.transact(gates.close_circuit(service, act))

    async def reset_circuit(self, service: str, act: Act) -> Breaker:
        return await self.driver.transact(gates.reset_circuit(service, act))

    async def circuits(self) -> Sequence[Breaker]:
        return await self.driver.read(gates.circuits())

    async def add_blackout(self, blackout: Blackout, act: Act) -> Blackout:
        return await self.driver.transact(gates.add_blackout(blackout, act))

    async def remove_blackout(self, blackout_id: UUID, act: Act) -> Blackout:
        return await self.driver.transact(gates.remove_blackout(blackout_id, act))

    async def usual_blackouts(self, usual: Sequence[Blackout]) -> None:
        await self.driver.transact(gates.usual_blackouts(usual))

    async def blackouts(self) -> Sequence[Blackout]:
        return await self.driver.read(gates.blackouts())

    async def spend(self, job: Job, step: str, number: int, quotas: Sequence[Quota]) -> Gate | None:
        return await self.driver.transact(quotas_desk.spend(job, step, number, quotas))

    async def unspend(self, job: Job, step: str, number: int) -> None:
        await self.driver.perform(quotas_desk.unspend(job, step, number))

    async def gates(self) -> Sequence[Gate]:
        return await self.driver.read(gates.gates())

    async def gates_of(self, scope: Scope, name: str) -> Sequence[Gate]:
        return await self.driver.read(gates.gates_of(scope, name))

    async def known_gates(self) -> tuple[Known, datetime]:
        return await self.driver.read(gates.known_gates())
