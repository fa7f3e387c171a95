"""Retry a store operation for some seconds while the database is unreachable."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from postino import clock
from postino.engine.outage_log import OutageLog
from postino.errors import StoreUnreachable

T = TypeVar("T")
KEEP_TRYING = 5.0  # seconds
RETRY_DELAY = 0.25  # seconds


async def retry_store(
    operation: Callable[[bool], Awaitable[T]], keep_trying: float | None = None, *, again: bool = False
) -> T:
    """Run the operation until the store answers. Raises StoreUnreachable after `keep_trying` seconds.

    The operation's argument says whether it may have been done before: the first attempt passes `again`, later ones
    True. The operation must be safe to repeat.
    """
    started, patience = clock.monotonic(), KEEP_TRYING if keep_trying is None else keep_trying
    while True:
        try:
            return await operation(again)
        except StoreUnreachable:
            if clock.monotonic() - started > patience:
                raise
            again = True
            await asyncio.sleep(RETRY_DELAY)


async def retry_forever(operation: Callable[[], Awaitable[T]]) -> T:
    """Run the operation until the store answers, however long that takes, and log what it waits for."""
    outage = OutageLog(clock.monotonic)
    while True:
        try:
            result = await operation()
        except StoreUnreachable as error:
            outage.record(error)
            await asyncio.sleep(RETRY_DELAY)
        else:
            outage.end()
            return result
