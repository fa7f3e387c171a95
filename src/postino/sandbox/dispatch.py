"""Handle a call to a network: count it, choose its faults, process it and send the response."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import apsw
from aiohttp import web

from postino.sandbox import call_log, calls, fault_schedule, limits, responses
from postino.sandbox.calls import IncomingCall
from postino.sandbox.database import SandboxDatabase
from postino.sandbox.faults import ScheduledFault
from postino.sandbox.media_download import fetch_all
from postino.sandbox.network import Reply, RequestRefused, SandboxCall, SandboxNetwork, TokenProblem
from postino.sandbox.network_state import REVOKED, NetworkState
from postino.sandbox.networks import networks
from postino.sandbox.requests import find_unknown_parameters, read_call
from postino.sandbox.settings import read_settings

INVISIBLE_SECONDS = 5
UNNAMED = "?"  # the endpoint of a call that was not understood


@dataclass(slots=True)
class CallOutcome:
    """The faults of a call, and the reply of its network once there is one."""

    seq: int  # number in the call log
    account: str
    faults: dict[str, ScheduledFault] = field(default_factory=dict)
    reply: Reply | None = None

    @property
    def exclusive_fault(self) -> ScheduledFault | None:
        """The fault that combines with no other: it replaces the reply, or decides how the reply is sent."""
        return next((fault for fault in self.faults.values() if not fault.kind.combines), None)

    @property
    def slow(self) -> ScheduledFault | None:
        return self.faults.get("slow")


class Dispatcher:
    def __init__(self, database: SandboxDatabase) -> None:
        self.database = database
        self.in_flight = calls.CallsInFlight()
        self.tasks: set[asyncio.Task[Any]] = set()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        network = networks().get(request.match_info["network"])
        if network is None:
            raise web.HTTPNotFound(text="No such network in this sandbox.\n")
        began_at = datetime.now(UTC)
        try:
            call = await read_call(request, network, "/" + request.match_info["path"])
        except RequestRefused as refused:
            async with self.track_call(network, calls.NOBODY, UNNAMED, began_at) as arrival:
                seq = await self.database.write(lambda it: calls.count_call(it, arrival))
                return self.finish(seq, request, responses.build_response(refused.reply))
        call = replace(call, token=network.read_token(call))
        async with self.track_call(network, self.find_caller(network, call), call.endpoint.name, began_at) as arrival:
            # A server finishes processing when its client has disconnected; it only sends no response.
            task = asyncio.create_task(self.run(network, call, arrival))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
            outcome = await asyncio.shield(task)
            assert outcome.reply is not None
            response = await responses.send(request, network, outcome.reply, outcome.exclusive_fault)
            return self.finish(outcome.seq, request, response)

    @asynccontextmanager
    async def track_call(
        self, network: SandboxNetwork, account: str, endpoint: str, began_at: datetime
    ) -> AsyncIterator[IncomingCall]:
        """Count the call as in flight until the end of the block."""
        await calls.drain_disconnects()
        with self.in_flight.track(network.name, account) as in_flight:
            yield IncomingCall(
                network=network.name, account=account, endpoint=endpoint, began_at=began_at, in_flight=in_flight
            )

    def finish(self, seq: int, request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
        """Log the end of the call. The response does not wait for this write: the reply itself is already on disk."""
        ended_at, status = datetime.now(UTC), responses.get_sent_status(request, response)
        self.database.write_soon(lambda it: call_log.end_call(it, seq, ended_at, status))
        return response

    def find_caller(self, network: SandboxNetwork, call: SandboxCall) -> str:
        token = NetworkState(self.database.reader, network.name, {}).find_token(call.token)
        return token.account if token else calls.NOBODY

    async def run(self, network: SandboxNetwork, call: SandboxCall, arrival: IncomingCall) -> CallOutcome:
        """Process the call whether or not the client still waits. All it wrote is on disk when this returns."""
        if call.endpoint.fetches is not None:
            fetched = fetch_all(self.database.reader, call.url, call.endpoint.fetches(call))
            call = replace(call, fetched=fetched)
        outcome = await self.database.write(lambda it: begin(it, network, call, arrival))
        if outcome.slow:
            await asyncio.sleep(outcome.slow.delay)
        if outcome.reply is None:
            outcome.reply = await self.database.write(lambda it: process(it, network, call, outcome))
        if (afterwards := outcome.reply.afterwards) is not None:
            await self.database.write(lambda it: afterwards(open_state(it, network)))
        return outcome

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


def begin(
    connection: apsw.Connection, network: SandboxNetwork, call: SandboxCall, arrival: IncomingCall
) -> CallOutcome:
    """Count the call and choose its faults; process it at once unless it is slow."""
    outcome = CallOutcome(calls.count_call(connection, arrival), arrival.account)
    outcome.faults = fault_schedule.draw_faults(connection, network.name, call.endpoint, arrival.account)
    if not outcome.slow:
        outcome.reply = process(connection, network, call, outcome)
    return outcome


def process(connection: apsw.Connection, network: SandboxNetwork, call: SandboxCall, outcome: CallOutcome) -> Reply:
    reply = decide(open_state(connection, network), network, call, outcome)
    if reply.retry_at is not None:
        call_log.set_retry_after(connection, outcome.seq, reply.retry_at)
    return reply


def decide(state: NetworkState, network: SandboxNetwork, call: SandboxCall, outcome: CallOutcome) -> Reply:
    """Return the reply: by a fault first, then by a rate limit imposed before, then by the network."""
    connection, fault = state.connection, outcome.exclusive_fault
    if hiding := outcome.faults.get("invisible"):
        state.hidden_for = timedelta(seconds=hiding.params.get("seconds", INVISIBLE_SECONDS))
    if fault and fault.fault == "rate_limited":
        return limits.impose_limit(connection, network, outcome.account, fault, state.now)
    if fault is None and (too_early := limits.find_refusal(connection, network, outcome.account, state.now)):
        return too_early
    if fault and fault.fault == "session_gone" and call.endpoint.gone is not None:
        call.endpoint.gone(call, state)
    elif fault and not fault.processed:
        return Reply(204)
    try:
        with connection:
            reply = perform(network, call, state)
    except RequestRefused as refused:
        reply = refused.reply
    return reply


def perform(network: SandboxNetwork, call: SandboxCall, state: NetworkState) -> Reply:
    if not call.endpoint.open or call.token is not None:
        authorize(network, call, state)
    if unknown := find_unknown_parameters(call):
        raise RequestRefused(network.reply_bad_request(f"Unknown parameter: {unknown[0]}"))
    reply = call.endpoint.act(call, state)
    if state.caller is None:
        return reply
    return replace(reply, headers={**network.default_headers(state), **reply.headers})


def authorize(network: SandboxNetwork, call: SandboxCall, state: NetworkState) -> None:
    token = state.find_token(call.token)
    if token is not None and (token.kind == REVOKED or state.is_expired(token)):
        raise RequestRefused(network.reply_unauthorized(TokenProblem.EXPIRED))
    if token is None or (token.kind != "access" and not call.endpoint.refreshes):
        raise RequestRefused(
            network.reply_unauthorized(TokenProblem.MISSING if call.token is None else TokenProblem.UNKNOWN)
        )
    state.caller = state.find_account(token.account)
    if state.account.blocked and not call.endpoint.reads:
        raise RequestRefused(network.reply_blocked())
    if (wait := network.check_rate_limit(state)) is not None:
        raise RequestRefused(network.reply_rate_limited(wait, state.now))


def open_state(connection: apsw.Connection, network: SandboxNetwork) -> NetworkState:
    return NetworkState(connection, network.name, read_settings(connection))
