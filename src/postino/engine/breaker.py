"""A circuit breaker for code outside jobs, on the same circuits: jobs need none, their calls are counted anyway."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from postino.errors import CircuitOpen
from postino.rules.circuit_breaker import Breaker, BreakerPolicy, Circuit, admits, state_at
from postino.stores.store import Store
from postino.values.job import new_id

T = TypeVar("T")


class CircuitBreaker:
    """`await breaker.call("openai", ask, fallback)`."""

    def __init__(self, store: Store, policy: Callable[[str], BreakerPolicy], probing: float = 60.0) -> None:
        self.store = store
        self.policy = policy
        self.probing = probing  # seconds after which a probe that never came back counts as gone

    async def call(
        self, service: str, action: Callable[[], Awaitable[T]], fallback: Callable[[], Awaitable[T]] | None = None
    ) -> T:
        """Its result, or the fallback's where the service is left alone or fails."""
        known, now = await self.store.known_gates()
        breaker = next((it for it in known.breakers if it.service == service), None)
        probe = await self.admitted(breaker, now)
        if probe is None:
            return await self.instead(service, fallback, None)
        try:
            result = await action()
        except Exception as error:  # noqa: BLE001 - whatever it is, the service did not do what it was asked
            await self.record_failure(service, str(error))
            return await self.instead(service, fallback, error)
        else:
            if breaker is not None:
                await self.record_success(service)
            return result
        finally:
            if probe:
                await self.store.finish_duty(*probe)

    async def instead(self, service: str, fallback: Callable[[], Awaitable[T]] | None, error: Exception | None) -> T:
        if fallback is not None:
            return await fallback()
        if error is not None:
            raise error
        breaker = await self.get(service)
        known = breaker.until_at
        until = f"until {known:%Y-%m-%d %H:%M:%S} UTC" if known else "until somebody closes its circuit"
        raise CircuitOpen(f"{service} is in trouble and left alone {until}. Nothing was called.")

    async def admitted(self, breaker: Breaker | None, now: datetime) -> tuple[str, str] | tuple[()] | None:
        """Whether it may be called; half-open, with one of few probes, which frees itself if its caller dies."""
        most = None if breaker is None else admits(breaker, now)
        if breaker is None or most is None:
            return ()
        holder = str(new_id())
        for number in range(most):
            probe = f"probe {number} of {breaker.service}"
            if await self.store.take_duty(probe, holder, seconds=self.probing, every=0):
                await self.store.half_open_circuits([breaker.service])
                return probe, holder
        return None

    async def get(self, service: str) -> Breaker:
        found = [breaker for breaker in await self.store.circuits() if breaker.service == service]
        return found[0] if found else Breaker(service=service)

    async def get_state(self, service: str) -> Circuit:
        _, now = await self.store.known_gates()
        return state_at(await self.get(service), now)

    async def record_success(self, service: str) -> Breaker:
        return await self.store.record_response(service, True, self.policy(service), None)

    async def record_failure(self, service: str, why: str | None = None) -> Breaker:
        return await self.store.record_response(service, False, self.policy(service), why)
