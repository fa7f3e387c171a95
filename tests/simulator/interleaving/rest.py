"""What must be true in the database while no transaction is open."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from postino.stores.audit import FIRST_HASH, compute_entry_hash
from postino.stores.operations.audit import list_audit_after
from postino.stores.operations.unreachable_jobs import list_unreachable_jobs
from tests.simulator.interleaving.workers import QUOTA

if TYPE_CHECKING:
    from tests.simulator.interleaving.life import Life

BUSY_LANES = """
SELECT lane FROM postino.jobs WHERE state = 'running' AND account IS NOT NULL GROUP BY channel, lane HAVING count(*) > 1
"""
# A job may be live as long as its ledger says so: an accepted receipt, or an intent without a receipt. A late receipt
# may be stored while the next intent is committed: the lookup of that intent is harmless.
WRONG_LEDGERS = """
SELECT job.id, job.may_be_live, accepted OR doubt.lookup_at IS NOT NULL AS should_be, job.lookup_at,
    doubt.lookup_at AS right_time
FROM postino.jobs AS job
CROSS JOIN LATERAL (
    SELECT EXISTS (SELECT 1 FROM postino.receipts WHERE job_id = job.id AND verdict = 'accepted') AS accepted
) AS live
LEFT JOIN LATERAL (
    SELECT intent.lookup_at FROM postino.intents AS intent
    WHERE intent.job_id = job.id AND NOT accepted AND NOT EXISTS (
        SELECT 1 FROM postino.receipts AS receipt WHERE receipt.job_id = job.id AND receipt.number = intent.number
    ) ORDER BY intent.number DESC LIMIT 1
) AS doubt ON true
WHERE job.may_be_live <> (accepted OR doubt.lookup_at IS NOT NULL)
   OR (doubt.lookup_at IS NULL) <> (job.lookup_at IS NULL) AND NOT accepted
ORDER BY job.id
"""


async def check_at_rest(life: Life) -> None:
    """Fail the life for each thing that is wrong when nothing is under way."""
    for job in await life.ask(list_unreachable_jobs()):
        life.fail(f"unreachable: no claim will ever find {life.oracle.describe(job.id)}, which is {job.state}")
    for row in await life.sessions.watcher.fetch(BUSY_LANES):
        life.fail(f"lane: two jobs of {row['lane']} run")
    for row in await life.sessions.watcher.fetch(WRONG_LEDGERS):
        life.fail(
            f"ledger: {life.oracle.describe(row['id'])} may be live: {row['may_be_live']}, by its ledger"
            f" {row['should_be']}; lookup {row['lookup_at']}, by its ledger {row['right_time']}"
        )
    await check_quota(life)


async def check_quota(life: Life) -> None:
    """No more calls than the quota allows were reserved in any of its periods."""
    used: dict[str, list[datetime]] = {}
    for row in await life.sessions.watcher.fetch("SELECT channel, at FROM postino.quota_usage ORDER BY at"):
        used.setdefault(row["channel"], []).append(row["at"])
    for channel, times in used.items():
        for first, last in zip(times, times[QUOTA.most :], strict=False):
            if QUOTA.period is not None and last - first < QUOTA.period:
                life.fail(f"quota: more than {QUOTA.most} calls on {channel} between {first} and {last}")


async def check_audit(life: Life) -> None:
    """The audit trail is one chain."""
    previous = FIRST_HASH
    for number, entry in enumerate(await life.ask(list_audit_after(0, 10_000)), 1):
        if entry.seq != number or entry.hash != compute_entry_hash(previous, entry):
            life.fail(f"audit: entry {number} is wrong")
        previous = entry.hash
