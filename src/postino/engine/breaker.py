"""A circuit breaker for code outside jobs, on the circuits that jobs use too. Calls of jobs are counted without it."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from postino.errors import CircuitOpen
from postino.rules.circuit_breaker import Breaker, BreakerPolicy, CircuitState, get_call_limit, get_state
from postino.stores.store import Store
from postino.values.job import new_id

T = TypeVar("T")
Fallback = Callable[[], Awaitable[T]]


class CircuitBreaker:
    """`await app.breaker.call("openai", ask, fallback)`."""

    def __init__(self, store: Store, policy: Callable[[str], BreakerPolicy], probe_timeout: float = 60.0) -> None:
        self.store = store
        self.policy = policy
        self.probe_timeout = probe_timeout  # seconds after which a probe whose caller died is free again

    async def call(self, service: str, action: Callable[[], Awaitable[T]], fallback: Fallback[T] | None = None) -> T:
        """Return the action's result, or the fallback's if the circuit is open or the action fails.

        Without a fallback, raises CircuitOpen or the action's own exception.
        """
        stored, now = await self.store.circuit(service)
        breaker = stored if stored.state is not CircuitState.CLOSED or stored.failures else None
        probe = await self.admit(breaker, now)
        if probe is None:
            return await self.fall_back(service, fallback, None)
        try:
            result = await action()
        except Exception as error:  # noqa: BLE001 - any exception counts as a failure of the service
            await self.record_failure(service, str(error))
            return await self.fall_back(service, fallback, error)
        else:
            if breaker is not None:
                await self.record_success(service)
            return result
        finally:
            if probe:
                await self.store.finish_duty(*probe)

    async def fall_back(self, service: str, fallback: Fallback[T] | None, error: Exception | None) -> T:
        if fallback is not None:
            return await fallback()
        if error is not None:
            raise error
        until_at = (await self.get(service)).until_at
        until = f"until {until_at:%Y-%m-%d %H:%M:%S} UTC" if until_at else "until it is closed by hand"
        raise CircuitOpen(f"The circuit of {service} is open {until}. Nothing was called.")

    async def admit(self, breaker: Breaker | None, now: datetime) -> tuple[str, str] | tuple[()] | None:
        """Return None if no call is admitted, () if any is, or the probe that this call takes while half-open."""
        limit = None if breaker is None else get_call_limit(breaker, now)
        if breaker is None or limit is None:
            return ()
        holder = str(new_id())
        for number in range(limit):
            probe = f"probe {number} of {breaker.service}"
            if await self.store.take_duty(probe, holder, seconds=self.probe_timeout, every=0):
                await self.store.half_open_circuits([breaker.service])
                return probe, holder
        return None

    async def get(self, service: str) -> Breaker:
        """Return the stored circuit of a service; a closed one if there is none."""
        return (await self.store.circuit(service))[0]

    async def get_state(self, service: str) -> CircuitState:
        """Return whether the circuit is closed, open or half-open now."""
        return get_state(*await self.store.circuit(service))

    async def record_success(self, service: str) -> Breaker:
        return await self.store.record_response(service, True, self.policy(service), None)

    async def record_failure(self, service: str, why: str | None = None) -> Breaker:
        return await self.store.record_response(service, False, self.policy(service), why)
