"""Takes each call to its network: counts it, lets faults befall it, has it processed and sends the answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import apsw
from aiohttp import web

from postino.sandbox import call_log, calls, fault_schedule, limits, responses
from postino.sandbox.calls import Arrival
from postino.sandbox.database import Database
from postino.sandbox.faults import Fault
from postino.sandbox.media_download import fetch
from postino.sandbox.network import Ask, Doubt, Network, Refused, Reply
from postino.sandbox.network_state import REVOKED, Memory
from postino.sandbox.networks import networks
from postino.sandbox.requests import read, unknown_parameters
from postino.sandbox.settings import settings

SECONDS_INVISIBLE = 5
UNNAMED = "?"  # the endpoint of a call that was not understood


@dataclass(slots=True)
class Course:
    """What befalls a call, and what its network said, once it has."""

    seq: int  # in the clock of calls
    account: str
    struck: dict[str, Fault] = field(default_factory=dict)
    reply: Reply | None = None

    @property
    def answer_fault(self) -> Fault | None:
        return next((fault for fault in self.struck.values() if not fault.kind.together), None)

    @property
    def slow(self) -> Fault | None:
        return self.struck.get("slow")


class Switchboard:
    def __init__(self, database: Database, session: aiohttp.ClientSession) -> None:
        self.database = database
        self.session = session
        self.flights = calls.Flights()
        self.working: set[asyncio.Task[Any]] = set()

    async def connect(self, request: web.Request) -> web.StreamResponse:
        network = networks().get(request.match_info["network"])
        if network is None:
            raise web.HTTPNotFound(text="No such network in this sandbox.\n")
        began_at = datetime.now(UTC)
        try:
            ask = await read(request, network, "/" + request.match_info["path"])
        except Refused as refused:
            async with self.arrival(network, calls.NOBODY, UNNAMED, began_at) as arrival:
                seq = await self.database.write(lambda it: calls.count(it, arrival))
                return self.ended(seq, request, responses.whole(refused.reply))
        ask = replace(ask, token=network.token(ask))
        async with self.arrival(network, self.caller_of(network, ask), ask.endpoint.name, began_at) as arrival:
            # A server goes on when its caller has left: only the answer is not sent then.
            task = asyncio.create_task(self.work(network, ask, arrival))
            self.working.add(task)
            task.add_done_callback(self.working.discard)
            course = await asyncio.shield(task)
            assert course.reply is not None
            response = await responses.send(request, network, course.reply, course.answer_fault)
            return self.ended(course.seq, request, response)

    @asynccontextmanager
    async def arrival(
        self, network: Network, account: str, endpoint: str, began_at: datetime
    ) -> AsyncIterator[Arrival]:
        """Under way until the end of the block."""
        await calls.departures()
        with self.flights.one(network.name, account) as flying:
            yield Arrival(network=network.name, account=account, endpoint=endpoint, began_at=began_at, flying=flying)

    def ended(self, seq: int, request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
        """The answer is not kept waiting for the disk: what matters of it was written when it was decided."""
        ended_at, status = datetime.now(UTC), responses.answered(request, response)
        self.database.write_soon(lambda it: call_log.end(it, seq, ended_at, status))
        return response

    def caller_of(self, network: Network, ask: Ask) -> str:
        token = Memory(self.database.reader, network.name, {}).find_token(ask.token)
        return token.account if token else calls.NOBODY

    async def work(self, network: Network, ask: Ask, arrival: Arrival) -> Course:
        """What happens whether or not somebody waits for the answer. What it writes is on disk at its end."""
        if ask.endpoint.fetches is not None:
            ask = replace(ask, fetched=await fetch(self.session, ask.endpoint.fetches(ask)))
        course = await self.database.write(lambda it: begin(it, network, ask, arrival))
        if course.slow:
            await asyncio.sleep(course.slow.delay)
        if course.reply is None:
            course.reply = await self.database.write(lambda it: process(it, network, ask, course))
        if (afterwards := course.reply.afterwards) is not None:
            await self.database.write(lambda it: afterwards(memory_of(it, network)))
        return course

    async def close(self) -> None:
        for task in self.working:
            task.cancel()
        await asyncio.gather(*self.working, return_exceptions=True)


def begin(connection: apsw.Connection, network: Network, ask: Ask, arrival: Arrival) -> Course:
    """Counts the call and draws its faults; processes it at once, unless it is a slow one."""
    course = Course(calls.count(connection, arrival), arrival.account)
    course.struck = fault_schedule.strike(connection, network.name, ask.endpoint, arrival.account)
    if not course.slow:
        course.reply = process(connection, network, ask, course)
    return course


def process(connection: apsw.Connection, network: Network, ask: Ask, course: Course) -> Reply:
    reply = decide(memory_of(connection, network), network, ask, course)
    if reply.retry_at is not None:
        call_log.tell_to_wait(connection, course.seq, reply.retry_at)
    return reply


def decide(memory: Memory, network: Network, ask: Ask, course: Course) -> Reply:
    """A fault outranks a limit that was imposed before, and that outranks what the network would do."""
    connection, fault = memory.connection, course.answer_fault
    if hiding := course.struck.get("invisible"):
        memory.hidden_for = timedelta(seconds=hiding.params.get("seconds", SECONDS_INVISIBLE))
    if fault and fault.fault == "rate_limited":
        return limits.impose(connection, network, course.account, fault, memory.now)
    if fault is None and (too_early := limits.refusal(connection, network, course.account, memory.now)):
        return too_early
    if fault and fault.fault == "session_gone" and ask.endpoint.gone is not None:
        ask.endpoint.gone(ask, memory)
    elif fault and not fault.processed:
        return Reply(204)
    try:
        with connection:
            reply = perform(network, ask, memory)
    except Refused as refused:
        reply = refused.reply
    return reply


def perform(network: Network, ask: Ask, memory: Memory) -> Reply:
    if not ask.endpoint.open or ask.token is not None:
        authorize(network, ask, memory)
    if unknown := unknown_parameters(ask):
        raise Refused(network.bad_request(f"Unknown parameter: {unknown[0]}"))
    reply = ask.endpoint.act(ask, memory)
    if memory.caller is None:
        return reply
    return replace(reply, headers={**network.usual_headers(memory), **reply.headers})


def authorize(network: Network, ask: Ask, memory: Memory) -> None:
    token = memory.find_token(ask.token)
    if token is not None and (token.kind == REVOKED or memory.is_over(token)):
        raise Refused(network.unauthorized(Doubt.EXPIRED))
    if token is None or (token.kind != "access" and not ask.endpoint.refreshes):
        raise Refused(network.unauthorized(Doubt.MISSING if ask.token is None else Doubt.UNKNOWN))
    memory.caller = memory.account_of(token.account)
    if memory.account.blocked and not ask.endpoint.reads:
        raise Refused(network.blocked())
    if (wait := network.overdrawn(memory)) is not None:
        raise Refused(network.rate_limited(wait, memory.now))


def memory_of(connection: apsw.Connection, network: Network) -> Memory:
    return Memory(connection, network.name, settings(connection))
