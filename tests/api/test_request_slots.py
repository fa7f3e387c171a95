"""How many requests of one caller are in progress at once."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from fastapi import HTTPException, Request
from starlette.types import Receive, Scope, Send

from postino.api.authentication import FixedCaller
from postino.api.caller import ANONYMOUS, Caller
from postino.api.rate_limits import PAYER
from postino.api.request_slots import MAX_CHANGES, MAX_READS, RequestSlots
from tests.api.asgi import AsgiClient

NOBODY = FixedCaller(ANONYMOUS)
OK = {"type": "http.response.start", "status": 200, "headers": []}
STREAM = {**OK, "headers": [(b"content-type", b"text/event-stream; charset=utf-8")]}


class Held:
    """An application whose requests last until `leave` is set, and which counts those in progress by caller."""

    def __init__(self) -> None:
        self.leave = asyncio.Event()
        self.running: Counter[str] = Counter()  # by caller and method

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = f"{scope.get(PAYER)} {scope['method']}"
        self.running[name] += 1
        if scope["path"] == "/stream":
            await send(STREAM)
            await self.leave.wait()
        else:
            await self.leave.wait()
            await send(OK)
        self.running[name] -= 1
        await send({"type": "http.response.body", "body": b""})


def start(slots: RequestSlots, payer: str, path: str, count: int, method: str = "GET") -> list[asyncio.Task[int]]:
    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        await slots({**scope, PAYER: payer}, receive, send)

    async def get_status() -> int:
        return (await AsgiClient(ask, "").ask(method, path)).status

    return [asyncio.create_task(get_status()) for _ in range(count)]


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_further_requests_of_a_caller_wait_and_those_of_others_do_not() -> None:
    held = Held()
    slots = RequestSlots(held, authenticator=NOBODY)
    tasks = start(slots, "attacker", "/", MAX_READS + 20)
    tasks += start(slots, "attacker", "/", MAX_CHANGES + 20, "POST")
    await settle()
    tasks += start(slots, "victim", "/", 1)
    await settle()
    assert held.running == {"attacker GET": MAX_READS, "attacker POST": MAX_CHANGES, "victim GET": 1}
    held.leave.set()
    assert set(await asyncio.gather(*tasks)) == {200}
    assert not slots.slots


async def test_event_streams_take_no_slot_once_they_have_begun() -> None:
    held = Held()
    slots = RequestSlots(held, authenticator=NOBODY)
    tasks = start(slots, "ada", "/stream", MAX_READS + 20)
    await settle()
    tasks += start(slots, "ada", "/", 1)
    await settle()
    assert held.running == {"ada GET": MAX_READS + 21}
    held.leave.set()
    assert set(await asyncio.gather(*tasks)) == {200}
    assert not slots.slots


async def test_request_that_is_given_up_while_it_waits_takes_no_slot() -> None:
    held = Held()
    slots = RequestSlots(held, authenticator=NOBODY)
    tasks = start(slots, "ada", "/", MAX_READS + 1)
    await settle()
    tasks[-1].cancel()
    await settle()
    held.leave.set()
    assert await asyncio.gather(*tasks[:-1]) == [200] * MAX_READS
    assert not slots.slots


class OneKey(FixedCaller):
    """Accepts one key."""

    async def authenticate(self, request: Request) -> Caller:
        if request.headers.get("authorization") != "Bearer right":
            raise HTTPException(401)
        return self.caller


@pytest.mark.parametrize(
    ("header", "path", "most"),
    [("right", "/", MAX_READS), ("wrong", "/", None), ("", "/", None), ("right", "/health/live", None)],
)
async def test_only_requests_with_a_valid_key_wait(header: str, path: str, most: int | None) -> None:
    held = Held()
    slots = RequestSlots(held, authenticator=OneKey(Caller("ada", "ada")))
    client, count = AsgiClient(slots, header), MAX_READS + 20
    tasks = [asyncio.create_task(client.ask("GET", path)) for _ in range(count)]
    await settle()
    assert sum(held.running.values()) == (most or count)
    held.leave.set()
    assert {reply.status for reply in await asyncio.gather(*tasks)} == {200}
    assert not slots.slots
