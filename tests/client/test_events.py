"""The event stream of the client: a lost connection resumes after the last event."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import uuid4

import pytest

from postino.client import ApiUnavailable, NotAllowed
from postino.errors import WrongUse
from tests.api.processes import Server
from tests.client.conftest import Kind
from tests.client.test_failures import in_turn, respond_with
from tests.outbound.raw_server import RawServer, Visit

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def format_frame(number: int) -> bytes:
    fields: dict[str, Any] = {
        "type": "job.completed",
        "at": "2026-03-01T10:00:00Z",
        "job_id": None,
        "brand": None,
        "data": {},
    }
    return f"id: 0-{number}\nevent: job.completed\ndata: {json.dumps(fields)}\n\n".encode()


async def test_events_resume_after_given_id(kind: Kind, server: Server) -> None:
    async with kind.of(server) as ask:
        channel = uuid4().hex
        made = [(await ask(lambda c: c.jobs.create("report", channel=channel)))["id"] for _ in range(3)]
        await ask(lambda c: c.jobs.change("cancel", ids=made))
        stored = await ask.every(lambda c: c.events(types=("job.cancelled",), after="0-0"), 3)
        later = await ask.every(lambda c: c.events(types=("job.cancelled",), after=stored[-3]["id"]), 1)
        assert later[0]["id"] == stored[-2]["id"]
        with pytest.raises(WrongUse) as wrong:
            await ask.every(lambda c: c.events(types=("job.dancing",)))
        assert wrong.value.field == "types"
    async with kind.open_caller(server.ready["url"], "postino_wrong") as ask:
        with pytest.raises(NotAllowed):
            await ask.every(lambda c: c.events())


async def test_reconnect_resumes_after_last_event_without_duplicates(kind: Kind) -> None:
    async def first(visit: Visit) -> None:
        await visit.request()
        await visit.say(HEAD + b": listening\n\n" + format_frame(1)[:20])
        await visit.say(format_frame(1)[20:] + format_frame(2) + format_frame(3)[:30])

    async def farewell(visit: Visit) -> None:
        await visit.request()
        await visit.say(HEAD + b': listening\n\nevent: closing\ndata: {"detail": "bye"}\n\n')

    async def broken(visit: Visit) -> None:
        await visit.request()
        visit.reset()

    async def last(visit: Visit) -> None:
        await visit.request()
        await visit.say(HEAD + format_frame(3) + b": nothing new\n\n" + format_frame(4))

    behaviour = in_turn(first, farewell, broken, respond_with(503), last)
    async with RawServer(behaviour) as raw, kind.open_caller(raw.url) as ask:
        stored = await ask.every(lambda c: c.events(), 4)
        assert [one["id"] for one in stored] == ["0-1", "0-2", "0-3", "0-4"]
        results = [re.findall(rb"(?i)last-event-id: (\S+)", request) for request in raw.requests]
        assert results == [[], [b"0-2"], [b"0-2"], [b"0-2"], [b"0-2"]]


async def test_reconnect_before_first_event_resumes_at_initial_position(kind: Kind) -> None:
    async def first(visit: Visit) -> None:
        await visit.request()
        await visit.say(HEAD + b": listening\nid: 0-6\n\n")

    async def last(visit: Visit) -> None:
        await visit.request()
        await visit.say(HEAD + b": listening\nid: 0-6\n\n" + format_frame(7))

    async with RawServer(in_turn(first, last)) as raw, kind.open_caller(raw.url) as ask:
        [result] = await ask.every(lambda c: c.events(), 1)
        assert result["id"] == "0-7"
        assert [re.findall(rb"(?i)last-event-id: (\S+)", request) for request in raw.requests] == [[], [b"0-6"]]


async def test_position_beyond_last_event_resumes_at_server_position(kind: Kind) -> None:
    async def reset_position(visit: Visit) -> None:
        await visit.request()
        await visit.say(HEAD + b': listening\nid: 0-6\n\nevent: anew\ndata: {"detail": "From now on."}\n\n')

    async def last(visit: Visit) -> None:
        await visit.request()
        await visit.say(HEAD + b": listening\nid: 0-6\n\n" + format_frame(7))

    async with RawServer(in_turn(reset_position, last)) as raw, kind.open_caller(raw.url) as ask:
        [result] = await ask.every(lambda c: c.events(after="0-999"), 1)
        assert result["id"] == "0-7"
        assert re.findall(rb"(?i)last-event-id: (\S+)", raw.requests[-1]) == [b"0-6"]


async def test_events_raise_when_server_stays_away(kind: Kind) -> None:
    async def broken(visit: Visit) -> None:
        await visit.request()
        visit.reset()

    async with RawServer(broken) as raw, kind.open_caller(raw.url, naps=False) as ask:
        with pytest.raises(ApiUnavailable, match="GET /v1/events"):
            await ask.every(lambda c: c.events())
        assert len(raw.requests) == 4


@pytest.mark.parametrize("body", [b"id: 1\ndata: {}\n\n", b"id: 1\ndata: x\n\n", b"id: 1\ndata: [1]\n\n"])
async def test_unreadable_event_raises(kind: Kind, body: bytes) -> None:
    async def strange(visit: Visit) -> None:
        await visit.request()
        await visit.say(HEAD + body)

    async with RawServer(strange) as raw, kind.open_caller(raw.url) as ask:
        with pytest.raises(ApiUnavailable, match="cannot be read"):
            await ask.every(lambda c: c.events())
