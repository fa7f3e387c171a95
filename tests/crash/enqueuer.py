"""A process that enqueues, and may be killed on purpose before it can say so."""

import asyncio
import os

from postino import JobSpec, Postino


async def main() -> None:
    async with Postino(os.environ["RECORDER_DATABASE"]) as app:
        await app.enqueue("record", key="one")
        await app.enqueue_many([JobSpec("record", key=f"many {number}", account="a") for number in range(5)])


if __name__ == "__main__":
    asyncio.run(main())
