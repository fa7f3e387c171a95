"""Snap processing: your own type of job, run by a worker in its own process."""

import asyncio
from dataclasses import dataclass

import asyncpg

from postino import Call, Exponential, Job, Outcome, Postino, Reject

app = Postino()  # POSTINO_DATABASE_URL says where
if not app.config.database_url.startswith("postgres"):
    raise SystemExit("Snap processing needs PostgreSQL: export POSTINO_DATABASE_URL=postgresql:///snaps")
few_connections = asyncio.Semaphore(4)


@dataclass(frozen=True)
class Snap:
    """An uploaded picture. `seconds` stands for the work it takes."""

    file: str
    seconds: float = 0.2


@app.handler("snap.process", max_attempts=3, backoff=Exponential(10, 2, 300), time_limit=60)
async def process(job: Job, snap: Snap, call: Call) -> Outcome | None:
    """Process a snap. It may run more than once, because its worker can die at any line: every line may be repeated."""
    if not snap.file.endswith((".jpg", ".png")):
        return Reject(f"{snap.file} is not a picture.")  # permanent: no retry
    await write(job, "UPDATE snap SET starts = starts + 1 WHERE job_id = $1")
    if "dark" in snap.file and job.attempts == 1:
        raise OSError(f"The storage did not return {snap.file}.")  # transient: retried after the backoff
    await asyncio.sleep(snap.seconds)
    await write(job, "UPDATE snap SET processed_at = coalesce(processed_at, now()) WHERE job_id = $1")
    return None


async def write(job: Job, statement: str) -> None:
    async with few_connections:
        connection = await asyncpg.connect(app.config.database_url)
        try:
            await connection.execute(statement, job.id)
        finally:
            await connection.close()
