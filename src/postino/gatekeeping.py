"""The contract of a store about gates: who closes them, who opens them, and what is known of all of them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from postino.gate import Gate, Scope
from postino.job import Job
from postino.rules.blackout import Blackout
from postino.rules.breaker import Breaker, BreakerPolicy
from postino.rules.gates import Known
from postino.rules.quota import Quota


class GateStore(Protocol):
    """What people and networks say about what may run, kept across restarts."""

    async def pause(self, scope: Scope, name: str, act: Any) -> Gate: ...
    async def resume(self, scope: Scope, name: str, act: Any) -> Gate: ...
    async def cap(self, channel: str, most: int | None, act: Any) -> int | None:
        """At most so many at once; without a number, as many as usual. Returns what holds now."""
        ...

    async def usual_caps(self, caps: Mapping[str, int]) -> None:
        """What holds where no person has said otherwise."""
        ...

    async def cool(self, scope: Scope, name: str, asked_until_at: datetime | None, reason: str) -> Gate:
        """A network wants fewer calls from an account, or from everybody on a channel."""
        ...

    async def warm(self, scope: Scope, name: str, act: Any) -> Gate:
        """Ends a cool-down by hand."""
        ...

    async def answered(self, service: str, healthy: bool, policy: BreakerPolicy, why: str | None) -> Breaker:
        """What a service's answer, or its silence, makes of its breaker."""
        ...

    async def half_open(self, service: str) -> None:
        """Somebody is about to find out whether it is well again, if its time is over."""
        ...

    async def open_circuit(self, service: str, until_at: datetime | None, probes: int, act: Any) -> Breaker: ...
    async def close_circuit(self, service: str, act: Any) -> Breaker: ...
    async def reset_circuit(self, service: str, act: Any) -> Breaker: ...
    async def circuits(self) -> Sequence[Breaker]: ...

    async def add_blackout(self, blackout: Blackout, act: Any) -> Blackout: ...
    async def remove_blackout(self, blackout_id: UUID, act: Any) -> Blackout: ...
    async def usual_blackouts(self, usual: Sequence[Blackout]) -> None:
        """Those that the settings say, in the place of those that they said before."""
        ...

    async def blackouts(self) -> Sequence[Blackout]: ...

    async def spend(self, job: Job, step: str, number: int, quotas: Sequence[Quota]) -> Gate | None:
        """Reserves what a call costs; or tells the gate that is closed until there is room for it."""
        ...

    async def unspend(self, job: Job, step: str, number: int) -> None:
        """The call never left."""
        ...

    async def gates(self) -> Sequence[Gate]:
        """All that were ever closed and not opened by hand, by whoever."""
        ...

    async def gates_of(self, scope: Scope, name: str) -> Sequence[Gate]: ...
    async def known_gates(self) -> tuple[Known, datetime]:
        """What a claim would go by now, and when that is."""
        ...
