"""When a claim or a poll fails because of stored values, find the jobs that cause it, and set them aside.

Nothing that Postino accepts is stored like that; other programs and bugs may do it. All other jobs must still run.
"""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

import structlog

from postino.errors import StoreUnreachable
from postino.rules.settlement import print_safely
from postino.stores.store import Store

log = structlog.get_logger("postino.worker")
MAX_CULPRITS = 50  # per failed claim: the next one looks for more
MAX_ERROR = 500  # characters


class UnclaimableJobs:
    def __init__(self, store: Store, types: Collection[str]) -> None:
        self.store = store
        self.types = types

    async def set_aside(self, token: UUID | None = None) -> bool:
        """Find the jobs that make claims fail and set them aside; return False if there is none.

        `token` is that of the claim that failed: the database may have made it, and only its response be unreadable.
        """
        culprits: list[tuple[Any, Exception]] = []
        await self.find(await self.store.misdated_jobs(), culprits)
        if not culprits:
            await self.find(await self.store.find_claim_candidates(token, self.types), culprits)
        for job_id, error in culprits:
            await self.set_aside_job(job_id, error, token)
        return bool(culprits)

    async def find(self, ids: Sequence[Any], culprits: list[tuple[Any, Exception]]) -> None:
        """Halve these jobs until those that cannot be claimed are alone."""
        if not ids or len(culprits) >= MAX_CULPRITS:
            return
        try:
            await self.store.check_claimable(ids)
        except StoreUnreachable:
            raise
        except Exception as error:  # noqa: BLE001 - logged with the job that causes it
            if len(ids) == 1:
                culprits.append((ids[0], error))
                return
            middle = len(ids) // 2
            await self.find(ids[:middle], culprits)
            await self.find(ids[middle:], culprits)

    async def set_aside_job(self, job_id: Any, error: Exception, token: UUID | None) -> None:
        """Make a job a dead letter, or uncertain. If even that fails, a person finds it among the uncertain ones."""
        cause = print_safely(error, str)[:MAX_ERROR]
        reason = f"No worker can claim this job, because of a value stored with it: {type(error).__name__}: {cause}"
        log.error("job.unclaimable", job=str(job_id), error=reason, next="the job is set aside; all others run")
        try:
            await self.store.set_aside_job(job_id, reason, token, fails=True)
        except StoreUnreachable:
            raise
        except Exception as refusal:  # noqa: BLE001 - logged
            log.error("job.unclaimable", job=str(job_id), error=repr(refusal), next="a person must resolve the job")
            await self.store.set_aside_job(job_id, reason, token, fails=False)
