"""Wake-ups within one process. The other wake-ups extend it for notifications between processes."""

import asyncio


class LocalWakeup:
    def __init__(self) -> None:
        self.woken = asyncio.Event()

    def notify_local(self) -> None:
        self.woken.set()

    def notify(self) -> None:
        self.notify_local()

    async def listen(self) -> None:
        """Do nothing: notifications of this process need no connection."""

    async def wait(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self.woken.wait()
        except TimeoutError:
            return False
        self.woken.clear()
        return True

    async def close(self) -> None:
        self.woken.set()
