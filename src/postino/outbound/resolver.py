"""Resolve host names, each in its own thread: a name server that never answers delays no other lookup.

The event loop's own threads are few, and all other work of the process shares them. Anybody who names a host decides
which name server has to answer.
"""

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

MAX_LOOKUPS = 1000  # threads; the system gives up a lookup by itself within a minute or two
FLAGS = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
Addresses = list[tuple[Any, ...]]  # as `socket.getaddrinfo` returns them
Result = tuple[Addresses, BaseException | None]
LookUp = Callable[[str, int, int], Addresses]


def look_up_addresses(host: str, port: int, family: int) -> Addresses:
    """Ask the system for the addresses of a host. Blocks."""
    return socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)


class ThreadResolver(AbstractResolver):
    """Asks the system for addresses. Requests for the same name share a lookup."""

    def __init__(self, look_up: LookUp = look_up_addresses) -> None:
        self._look_up = look_up
        self._lookups: dict[tuple[str, int, int], asyncio.Future[Result]] = {}
        self._slots = asyncio.Semaphore(MAX_LOOKUPS)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses of a host. If the caller gives up, the lookup goes on for the next one."""
        name = host, port, int(family)
        lookup = self._lookups.get(name)
        if lookup is None:
            await self._slots.acquire()
            if (lookup := self._lookups.get(name)) is None:
                lookup = self._start(*name)
            else:  # another request has started it in the meantime
                self._slots.release()
        addresses, error = await asyncio.shield(lookup)
        if error is not None:
            raise error.with_traceback(None)
        return [to_result(host, address) for address in addresses]

    async def close(self) -> None:
        """Do nothing: the threads end by themselves, and keep no process from ending."""

    def _start(self, *name: Any) -> asyncio.Future[Result]:
        loop = asyncio.get_running_loop()
        lookup: asyncio.Future[Result] = loop.create_future()

        def work() -> None:
            result: Result
            try:
                result = self._look_up(*name), None
            except BaseException as error:  # noqa: BLE001 - raised again in each task that waits
                result = [], error
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._end, name, lookup, result)

        self._lookups[name] = lookup
        threading.Thread(target=work, name="postino-resolver", daemon=True).start()
        return lookup

    def _end(self, name: tuple[str, int, int], lookup: asyncio.Future[Result], result: Result) -> None:
        self._slots.release()
        del self._lookups[name]
        lookup.set_result(result)


def to_result(host: str, address: tuple[Any, ...]) -> ResolveResult:
    """Return an address as aiohttp takes it. An address that selects an interface of this machine names it."""
    family, _, protocol, _, (number, port, *rest) = address
    scope = rest[1] if len(rest) > 1 else 0
    numeric = f"{number}%{scope}" if scope and "%" not in number else number
    return ResolveResult(hostname=host, host=numeric, port=port, family=family, proto=protocol, flags=FLAGS)
