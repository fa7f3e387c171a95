"""Notifications arrive, and a lost one harms nobody."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from postino.wakeups.datagram import DatagramWakeup
from postino.wakeups.local import LocalWakeup
from postino.wakeups.postgres import PostgresWakeup
from postino.wakeups.wakeup import Wakeup

Make = Callable[[], Wakeup]


@pytest.fixture(params=["datagram", pytest.param("postgres", marks=pytest.mark.postgres)])
async def make(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Make]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    async with AsyncExitStack() as closing:

        def make_one() -> Wakeup:
            wakeup: Wakeup = PostgresWakeup(url) if url else DatagramWakeup(tmp_path / "postino.db")
            closing.push_async_callback(wakeup.close)
            return wakeup

        yield make_one


async def test_listener_is_woken_by_another_process(make: Make) -> None:
    speaker, listeners = make(), [make(), make()]
    for listener in listeners:
        await listener.listen()
        await listener.wait(0.01)
    speaker.notify()
    assert await asyncio.gather(*(listener.wait(10) for listener in listeners)) == [True, True]


async def test_second_notification_soon_after_the_first_is_sent_too(make: Make) -> None:
    speaker, listener = make(), make()
    await listener.listen()
    await listener.wait(0.01)
    for _ in range(5):
        speaker.notify()
        assert await listener.wait(10)


async def test_notification_before_the_wait_is_not_lost(make: Make) -> None:
    wakeup = make()
    wakeup.notify()
    assert await wakeup.wait(10)


async def test_wait_ends_after_its_timeout(make: Make) -> None:
    assert not await make().wait(0.01)


async def test_thousand_notifications_are_one() -> None:
    wakeup = LocalWakeup()
    for _ in range(1000):
        wakeup.notify()
    assert await wakeup.wait(10)
    assert not await wakeup.wait(0)


async def test_socket_of_a_dead_listener_is_removed(tmp_path: Path) -> None:
    speaker, listener = DatagramWakeup(tmp_path / "postino.db"), DatagramWakeup(tmp_path / "postino.db")
    await listener.listen()
    assert listener.receiver is not None
    asyncio.get_running_loop().remove_reader(listener.receiver)
    listener.receiver.close()
    listener.receiver = None
    assert listener.path.exists()
    speaker.notify()
    assert not listener.path.exists()


async def test_path_too_long_for_a_socket_address_works(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    speaker, listener = DatagramWakeup(deep / "postino.db"), DatagramWakeup(deep / "postino.db")
    await listener.listen()
    speaker.notify()
    assert await listener.wait(10)
    await listener.close()


async def test_unreachable_database_stops_neither_notifier_nor_listener() -> None:
    wakeup = PostgresWakeup("postgresql://127.0.0.1:1/nothing")
    await wakeup.listen()
    wakeup.notify()
    assert await wakeup.wait(10)
    await wakeup.close()
