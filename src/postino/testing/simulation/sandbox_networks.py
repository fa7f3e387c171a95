"""The sandbox's networks inside a simulation: their own models, without a server process, disk or real time."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from importlib.resources import files
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode, urlsplit

import apsw
from aiohttp import MultipartReader, web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.streams import StreamReader
from multidict import CIMultiDict, MultiDict

from postino.sandbox import accounts, fault_schedule, limits, media_download
from postino.sandbox.database import SCHEMA
from postino.sandbox.dispatch import open_state, perform
from postino.sandbox.faults import FAULT_KINDS, ScheduledFault
from postino.sandbox.network import Reply, RequestRefused, SandboxCall, SandboxNetwork
from postino.sandbox.network_state import NetworkState
from postino.sandbox.networks import networks
from postino.sandbox.requests import read_call
from postino.sandbox.responses import build_headers, encode_body
from postino.testing.simulation.http import SentRequest
from postino.values.provider import Answer

URL = "http://sandbox.test"
HOST = "sandbox.test"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedPost:
    """One row of the sandbox's record, with the request that made it."""

    network: str
    account: str
    remote_id: str
    text: str
    published_at: datetime
    request: SentRequest = field(repr=False)


class SimulatedSandbox:
    """Responds like the sandbox's server. `rates` has the probability of each fault of a call, by the fault's name."""

    def __init__(
        self,
        chance: random.Random,
        rates: Mapping[str, float],
        on_published: Callable[[PublishedPost], None] = lambda _: None,
        on_sent: Callable[[SentRequest], None] = lambda _: None,
    ) -> None:
        self.chance = chance
        self.rates = rates
        self.on_published = on_published
        self.on_sent = on_sent
        self.connection = apsw.Connection(":memory:")
        create_tables(self.connection)
        self.under_way: list[SentRequest] = []  # requests that have left a process and are not processed yet
        self.limits_without_time: Counter[tuple[str, str]] = Counter()  # rate limits of an account that name no time

    def expect(self, request: SentRequest) -> None:
        self.under_way.append(request)
        self.on_sent(request)

    async def respond(self, request: SentRequest) -> Answer | None:
        """Process a request as its fault says. None closes the connection without a response."""
        parts = urlsplit(request.url)
        _, name, path = parts.path.split("/", 2)
        network = networks()[name]
        try:
            call = await read_request(request, network, f"/{path}", parts.query)
        except RequestRefused as refused:
            self.under_way.remove(request)
            return to_answer(refused.reply)
        fault = self.draw_fault(network, call)
        kind = fault.fault if fault else None
        if fault is not None and kind == "slow":
            await asyncio.sleep(self.chance.choice((0.5, 2.0, 8.0)))
        reply = self.process(network, call, request, fault)
        self.under_way.remove(request)
        match kind:
            case "drop" | "process_then_drop" | "lost_refresh":
                return None
            case "timeout":
                await asyncio.sleep(600)
                return None
            case "process_then_500":
                return to_answer(network.reply_internal_error())
            case "error_but_published" if reply.status < 400:
                return to_answer(network.reply_misleading_error())
            case "html":
                return Answer(502, {"content-type": "text/html"}, b"<html>Bad Gateway</html>")
            case _:
                return to_answer(reply)

    def draw_fault(self, network: SandboxNetwork, call: SandboxCall) -> ScheduledFault | None:
        """Choose the fault of a call at random; None: none."""
        for name, kind in FAULT_KINDS.items():
            if kind.occurs_at(call.endpoint) and self.chance.random() < self.rates.get(name, 0.0):
                return ScheduledFault(network=network.name, fault=name, params=self.draw_params(name))
        return None

    def draw_params(self, fault: str) -> dict[str, Any]:
        match fault:
            case "rate_limited":
                return self.chance.choice([{"seconds": 2}, {"seconds": 20}, {"none": True}, {"http_date": 3}])
            case "invisible":
                return {"seconds": self.chance.choice((1, 5, 20))}
            case "timeout":
                return {"processed": self.chance.random() < 0.5}
            case _:
                return {}

    def process(
        self, network: SandboxNetwork, call: SandboxCall, request: SentRequest, fault: ScheduledFault | None
    ) -> Reply:
        """Let the network process the call unless the fault keeps it from that."""
        state = open_state(self.connection, network)
        token = state.find_token(call.token)
        account = token.account if token else ""
        if fault is not None and fault.fault == "rate_limited":
            stored = fault_schedule.add_fault(self.connection, fault)
            self.limits_without_time[network.name, account] += "none" in fault.params
            return limits.impose_limit(self.connection, network, account, stored, state.now)
        if too_early := limits.find_refusal(self.connection, network, account, state.now):
            return too_early
        if fault is not None and fault.fault == "invisible":
            state.hidden_for = timedelta(seconds=fault.params["seconds"])
        elif self.chance.random() < self.rates.get("late_list", 0.0):  # a deviation that comes with any fault
            state.hidden_for = timedelta(seconds=self.chance.choice((5, 20)))
        if fault is not None and fault.fault == "session_gone" and call.endpoint.gone is not None:
            call.endpoint.gone(call, state)
        elif fault is not None and not fault.processed:
            return Reply(204)
        return self.perform(network, call, request, state)

    def perform(self, network: SandboxNetwork, call: SandboxCall, request: SentRequest, state: NetworkState) -> Reply:
        """Let the network process the call, and report what it has published."""
        before = self.count_published()
        try:
            with self.connection:
                reply = perform(network, call, state)
                if reply.afterwards is not None:
                    reply.afterwards(open_state(self.connection, network))
        except RequestRefused as refused:
            return refused.reply
        rows = self.connection.execute(
            "SELECT network, account, remote_id, text FROM published ORDER BY rowid LIMIT -1 OFFSET ?", (before,)
        )
        for name, account, remote_id, text in (map(str, row) for row in rows.fetchall()):
            self.on_published(
                PublishedPost(
                    network=name, account=account, remote_id=remote_id, text=text, published_at=state.now,
                    request=request,
                )
            )  # fmt: skip
        return reply

    def count_published(self) -> int:
        count: int = self.connection.execute("SELECT count(*) FROM published").get
        return count

    def read_file(self, url: str) -> Answer:
        """Return a sample file of the sandbox."""
        file = media_download.fetch(self.connection, URL, url)
        return Answer(404, {}, b"") if file is None else Answer(200, {"content-type": file.mime}, file.data)


def create_tables(connection: apsw.Connection) -> None:
    """Create the sandbox's tables, and the account that each network has from the start."""
    for name in SCHEMA.values():
        connection.execute((files("postino.sandbox") / name).read_text(encoding="utf-8"))
    connection.execute("INSERT INTO epochs VALUES (1, '')")
    accounts.seed_accounts(connection)


async def read_request(request: SentRequest, network: SandboxNetwork, path: str, query: str) -> SandboxCall:
    """Return the call that the sandbox's server would read from this request."""
    call = await read_call(cast("web.Request", RequestInMemory(request, query)), network, path)
    return replace(call, token=network.read_token(call))


class RequestInMemory:
    """A request as the sandbox's server reads it. It never crossed a socket."""

    scheme, host = "http", HOST

    def __init__(self, request: SentRequest, query: str) -> None:
        self.method = request.method
        self.headers = CIMultiDict(request.headers)
        self.body = request.body or b""
        if request.json is not None:
            self.headers["Content-Type"], self.body = "application/json", json.dumps(request.json).encode()
        elif request.form is not None:
            self.headers["Content-Type"] = "application/x-www-form-urlencoded"
            self.body = urlencode(request.form).encode()
        self.query = MultiDict([*parse_qsl(query, keep_blank_values=True), *(request.params or {}).items()])

    @property
    def content_type(self) -> str:
        return str(self.headers.get("Content-Type", "application/octet-stream")).partition(";")[0].strip().lower()

    async def read(self) -> bytes:
        return self.body

    async def multipart(self) -> MultipartReader:
        loop = asyncio.get_running_loop()
        stream = StreamReader(BaseProtocol(loop), 2**30, loop=loop)
        stream.feed_data(self.body)
        stream.feed_eof()
        return MultipartReader(self.headers, stream)


def to_answer(reply: Reply) -> Answer:
    return Answer(
        reply.status, {name.lower(): value for name, value in build_headers(reply).items()}, encode_body(reply)
    )
