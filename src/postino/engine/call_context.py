"""What the calls of one worker share: clocks, the HTTP client, circuits and quotas."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from postino.engine.circuit_monitor import CircuitMonitor
from postino.engine.job_spec import JobSpec
from postino.engine.quota_meter import QuotaMeter
from postino.values.job import Job
from postino.values.provider import Http


class HttpClientFactory(Protocol):
    """Makes the HTTP client of one step."""

    def open(
        self,
        *,
        timeout: timedelta,
        may_send: Callable[[], str | None],
        on_progress: Callable[[], str | None] = ...,
        visible: bool,
        secrets: Any,
        public: bool,
    ) -> Http: ...


@dataclass(frozen=True, slots=True)
class CallContext:
    """What every call of one worker uses."""

    enqueue: Callable[[JobSpec], Awaitable[Job]]
    http: HttpClientFactory
    now: Callable[[], datetime]
    uptime: Callable[[], float]  # seconds, including the time the machine slept
    may_send: Callable[[], str | None]  # the reason why this worker must not send, such as an expired lease
    circuits: CircuitMonitor
    quotas: QuotaMeter
    grace: float = 0.0  # seconds between the time limit of a step and the job's deadline
