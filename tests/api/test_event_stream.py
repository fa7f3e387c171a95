"""A listener of the event stream: batches, each event once, until too many are unread."""

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


async def is_valid() -> bool:
    return True


ANYONE = Subscriber("anybody", is_valid)


def make_event(number: int) -> StreamedEvent:
    return StreamedEvent(Event(cursor=Cursor(0, number), type="job.completed", at=datetime(2026, 1, 1, tzinfo=UTC)))


def make_listener(after: int = 0) -> StreamListener:
    return StreamListener(lambda one: one if one.event.cursor.seq % 2 == 0 else None, Cursor(0, after), ANYONE)


def numbers(heard: object) -> list[int]:
    assert isinstance(heard, list)
    return [one.event.cursor.seq for one in heard]


async def test_listener_gets_each_event_once_in_batches() -> None:
    listener = make_listener(after=4)
    for number in range(10):
        listener.offer(make_event(number))
    assert numbers(await listener.next(LONG)) == [6, 8]
    waiting = asyncio.create_task(listener.next(LONG))
    await asyncio.sleep(0)
    listener.offer(make_event(11))
    listener.offer(make_event(12))
    assert numbers(await waiting) == [12]


async def test_timeout_returns_an_empty_batch() -> None:
    assert numbers(await make_listener().next(0)) == []


async def test_listener_with_too_many_unread_events_is_ended() -> None:
    listener = make_listener()
    for number in range(2, 2 * MAX_UNREAD + 1, 2):
        listener.offer(make_event(number))
    assert listener.ended_by is None
    listener.offer(make_event(2 * MAX_UNREAD + 2))
    with pytest.raises(ListenerTooSlow):
        await listener.next(LONG)
    listener.offer(make_event(2 * MAX_UNREAD + 4))
    assert len(listener.unread) <= MAX_UNREAD + 1


async def test_waiting_listener_is_ended_immediately() -> None:
    listener = make_listener()
    waiting = asyncio.create_task(listener.next(LONG))
    await asyncio.sleep(0)
    listener.end(StreamClosed)
    with pytest.raises(StreamClosed):
        await waiting
