"""Host names: a name server that never answers holds up nobody else."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

from postino.outbound import resolver
from postino.outbound.resolver import ThreadResolver

MANY = 100  # far more than the event loop has threads of its own
ADDRESS = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.7", 443))


class NameServer:
    """Answers for every name at once, but for those below `stuck.example` only when it is released."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.released = threading.Event()
        self.arrivals = threading.Semaphore(0)

    def look_up(self, host: str, port: int, family: int) -> list[tuple[Any, ...]]:
        self.asked.append(host)
        self.arrivals.release()
        if host.endswith("stuck.example"):
            self.released.wait(60)
        if host.startswith("unknown"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [ADDRESS]

    async def wait_for_requests(self, count: int) -> None:
        for _ in range(count):
            await asyncio.to_thread(self.arrivals.acquire)


async def test_names_that_are_never_answered_hold_up_no_other_name_or_thread() -> None:
    server = NameServer()
    names = ThreadResolver(server.look_up)
    stuck = [asyncio.create_task(names.resolve(f"{number}.stuck.example")) for number in range(MANY)]
    await server.wait_for_requests(MANY)
    [found] = await names.resolve("there.example", 443)
    assert (found["hostname"], found["host"], found["port"]) == ("there.example", "192.0.2.7", 443)
    assert await asyncio.to_thread(lambda: "free") == "free"
    assert not any(task.done() for task in stuck)
    server.released.set()
    await asyncio.gather(*stuck)


async def test_requests_for_one_name_share_a_lookup_even_if_one_gives_up() -> None:
    server = NameServer()
    names = ThreadResolver(server.look_up)
    first, second = (asyncio.create_task(names.resolve("one.stuck.example")) for _ in range(2))
    await server.wait_for_requests(1)
    first.cancel()
    server.released.set()
    assert len(await second) == 1
    assert first.cancelled()
    assert server.asked == ["one.stuck.example"]


async def test_unknown_name_raises_for_every_request_and_is_asked_again() -> None:
    server = NameServer()
    names = ThreadResolver(server.look_up)
    for times in (1, 2):
        with pytest.raises(socket.gaierror):
            await names.resolve("unknown.example")
        assert len(server.asked) == times


async def test_lookups_beyond_the_limit_wait_and_a_free_slot_takes_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver, "MAX_LOOKUPS", 1)
    server = NameServer()
    names = ThreadResolver(server.look_up)
    stuck = asyncio.create_task(names.resolve("one.stuck.example"))
    waiting = [asyncio.create_task(names.resolve("there.example")) for _ in range(3)]
    await server.wait_for_requests(1)
    waiting[0].cancel()
    server.released.set()
    assert len(await stuck) == 1
    assert [len(await task) for task in waiting[1:]] == [1, 1]


async def test_system_resolves_localhost_to_this_machine() -> None:
    results = await ThreadResolver().resolve("localhost", 80, socket.AF_INET)
    assert {result["host"] for result in results} == {"127.0.0.1"}


@pytest.mark.parametrize(("scope", "host"), [(0, "fe80::1"), (2, "fe80::1%2")])
def test_address_of_an_interface_keeps_its_zone(scope: int, host: str) -> None:
    address = (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("fe80::1", 443, 0, scope))
    assert resolver.to_result("local.example", address)["host"] == host
