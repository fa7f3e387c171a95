"""People act at the same time, but not while an operator makes a backup or puts one back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    """A lock that any number of people share, or that one operator has alone."""

    def __init__(self) -> None:
        self.acting = 0
        self.is_taken = False
        self.changed = asyncio.Condition()

    @asynccontextmanager
    async def share(self) -> AsyncIterator[None]:
        """Act with others. Do not nest it."""
        async with self.changed:
            await self.changed.wait_for(lambda: not self.is_taken)
            self.acting += 1
        try:
            yield
        finally:
            async with self.changed:
                self.acting -= 1
                self.changed.notify_all()

    @asynccontextmanager
    async def take(self) -> AsyncIterator[None]:
        """Act alone, as soon as all others are done."""
        async with self.changed:
            await self.changed.wait_for(lambda: not self.is_taken)
            self.is_taken = True
            await self.changed.wait_for(lambda: not self.acting)
        try:
            yield
        finally:
            async with self.changed:
                self.is_taken = False
                self.changed.notify_all()
