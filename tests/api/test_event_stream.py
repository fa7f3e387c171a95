"""One listener's share of the events: together what came together, each once, until it is too far behind."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from postino.api.event_stream import (
    MAX_UNREAD,
    ListenerTooSlow,
    StreamClosed,
    StreamedEvent,
    StreamListener,
    Subscriber,
)
from postino.values.event import Cursor, Event

LONG = 30.0


async def let_in() -> bool:
    return True


ANYBODY = Subscriber("anybody", let_in)


def told(number: int) -> StreamedEvent:
    return StreamedEvent(Event(cursor=Cursor(0, number), type="job.completed", at=datetime(2026, 1, 1, tzinfo=UTC)))


def listening(after: int = 0) -> StreamListener:
    return StreamListener(lambda one: one if one.event.cursor.seq % 2 == 0 else None, Cursor(0, after), ANYBODY)


def numbers(heard: object) -> list[int]:
    assert isinstance(heard, list)
    return [one.event.cursor.seq for one in heard]


async def test_listener_gets_each_event_once_in_batches() -> None:
    mine = listening(after=4)
    for number in range(10):
        mine.offer(told(number))
    assert numbers(await mine.next(LONG)) == [6, 8]
    waiting = asyncio.create_task(mine.next(LONG))
    await asyncio.sleep(0)
    mine.offer(told(11))
    mine.offer(told(12))
    assert numbers(await waiting) == [12]


async def test_timeout_returns_an_empty_batch() -> None:
    assert numbers(await listening().next(0)) == []


async def test_listener_with_too_many_unread_events_is_ended() -> None:
    mine = listening()
    for number in range(2, 2 * MAX_UNREAD + 1, 2):
        mine.offer(told(number))
    assert mine.ended_by is None
    mine.offer(told(2 * MAX_UNREAD + 2))
    with pytest.raises(ListenerTooSlow):
        await mine.next(LONG)
    mine.offer(told(2 * MAX_UNREAD + 4))
    assert len(mine.unread) <= MAX_UNREAD + 1


async def test_waiting_listener_is_ended_immediately() -> None:
    mine = listening()
    waiting = asyncio.create_task(mine.next(LONG))
    await asyncio.sleep(0)
    mine.end(StreamClosed)
    with pytest.raises(StreamClosed):
        await waiting
