"""Within one process. The others build on it: whoever is told from outside tells here."""

import asyncio


class LocalWakeup:
    def __init__(self) -> None:
        self.told = asyncio.Event()

    def nudge(self) -> None:
        self.told.set()

    def tell(self) -> None:
        self.nudge()

    async def listen(self) -> None:
        """Hears everything already."""

    async def wait(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self.told.wait()
        except TimeoutError:
            return False
        self.told.clear()
        return True

    async def close(self) -> None:
        self.told.set()
