"""What a handler may do besides its own work: further jobs, which belong to it."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from postino.engine.specs import JobSpec
from postino.job import Job


class Call:
    """Handed to a handler with its job."""

    def __init__(self, job: Job, enqueue: Callable[[JobSpec], Awaitable[Job]]) -> None:
        self.job = job
        self._enqueue = enqueue

    async def enqueue(self, type: str, payload: Any = None, **details: Any) -> Job:
        """Enqueues a child of this job. What becomes of the child never changes its parent."""
        spec = JobSpec(type, payload, **details)
        return await self._enqueue(
            replace(
                spec,
                parent=self.job.id,
                correlation_id=spec.correlation_id or self.job.correlation_id or str(self.job.id),
            )
        )
