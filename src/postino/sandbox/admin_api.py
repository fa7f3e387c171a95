"""The admin API under `/_sandbox`: published posts, faults, accounts, settings and counts of calls."""

import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import apsw
from aiohttp import web

from postino.errors import Conflict, NotFound, PostinoError, WrongUse
from postino.sandbox import accounts, call_log, calls, fault_schedule, faults, record, settings
from postino.sandbox.browser_checks import describe_foreign_request
from postino.sandbox.dispatch import Dispatcher
from postino.sandbox.faults import FAULT_KINDS
from postino.sandbox.media_download import find_media
from postino.sandbox.network import SandboxNetwork, parse_whole_number
from postino.sandbox.network_state import SandboxAccount
from postino.sandbox.networks import networks

STATUS = {WrongUse: 422, NotFound: 404, Conflict: 409}
TITLES = {422: "Wrong use", 404: "Not found", 409: "Conflict", 403: "Forbidden"}
SAFE_MEDIA_TYPES = {"image/jpeg", "image/png", "image/gif", "image/webp", "video/mp4", "video/quicktime"}
MAX_LIMIT = 10_000
MAX_ACCOUNTS = 1_000
HANDLE = re.compile(r"[\w.-]{1,200}", re.ASCII)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def handle_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn errors into problem details, and refuse requests of web pages of other sites."""
    if reason := describe_foreign_request(request):
        return render_problem(403, reason)
    if not request.path.startswith("/_sandbox/"):
        return await handler(request)
    try:
        return await handler(request)
    except PostinoError as error:
        status = next(status for kind, status in STATUS.items() if isinstance(error, kind))
        return render_problem(status, str(error), getattr(error, "field", None))


def render_problem(status: int, detail: str, field: str | None = None) -> web.Response:
    body = {"type": "about:blank", "title": TITLES[status], "status": status, "detail": detail}
    return web.json_response(
        body | ({"field": field} if field else {}), status=status, content_type="application/problem+json"
    )


class AdminApi:
    def __init__(self, dispatcher: Dispatcher) -> None:
        self.dispatcher = dispatcher
        self.database = dispatcher.database

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/_sandbox/published", self.list_published),
            web.get("/_sandbox/faults", self.list_faults),
            web.post("/_sandbox/faults", self.add_fault),
            web.delete("/_sandbox/faults", self.remove_faults),
            web.delete("/_sandbox/faults/{id}", self.remove_fault),
            web.post("/_sandbox/reset", self.reset),
            web.get("/_sandbox/calls", self.show_calls),
            web.get("/_sandbox/calls/log", self.list_calls),
            web.get("/_sandbox/networks", self.list_networks),
            web.get("/_sandbox/accounts", self.list_accounts),
            web.post("/_sandbox/accounts", self.add_account),
            web.post("/_sandbox/accounts/{network}/{handle}", self.change_account),
            web.get("/_sandbox/settings", self.show_settings),
            web.post("/_sandbox/settings", self.change_settings),
            web.get("/_sandbox/media/{name}", self.get_media),
        ]

    async def list_published(self, request: web.Request) -> web.Response:
        query = read_query(request, "all", "after", "network")
        reader = self.database.reader
        posts = record.list_published(
            reader,
            all_epochs=query.get("all") in ("1", "true"),
            after=parse_number(query.get("after", "0"), "after"),
            network=find_network(query["network"]).name if "network" in query else None,
        )
        return web.json_response({"data": posts, "epoch": record.get_epoch(reader)})

    async def list_faults(self, request: web.Request) -> web.Response:
        everything = read_query(request, "all").get("all") in ("1", "true")
        listed = (
            fault_schedule.list_all(self.database.reader)
            if everything
            else fault_schedule.list_pending(self.database.reader)
        )
        return web.json_response({"data": [fault_schedule.render(fault) for fault in listed]})

    async def add_fault(self, request: web.Request) -> web.Response:
        fault = faults.parse_fault(await read_body(request))
        added = await self.database.write(lambda it: fault_schedule.add_fault(it, fault))
        return web.json_response(fault_schedule.render(added), status=201)

    async def remove_faults(self, request: web.Request) -> web.Response:
        query = read_query(request, "network").get("network")
        network = None if query is None else faults.parse_choice("network", query, [faults.ANY, *networks()])
        return web.json_response(
            {"removed": await self.database.write(lambda it: fault_schedule.remove_faults(it, None, network))}
        )

    async def remove_fault(self, request: web.Request) -> web.Response:
        number = parse_number(request.match_info["id"], "id")
        if not await self.database.write(lambda it: fault_schedule.remove_faults(it, number)):
            raise NotFound(f"There is no fault {number}.")
        return web.json_response({"removed": 1})

    async def reset(self, request: web.Request) -> web.Response:
        return web.json_response({"epoch": await self.database.write(reset_sandbox)})

    async def show_calls(self, request: web.Request) -> web.Response:
        read_query(request)
        return web.json_response(calls.render(self.database.reader, self.dispatcher.in_flight))

    async def list_calls(self, request: web.Request) -> web.Response:
        query = read_query(request, "network", "account", "after", "limit")
        network = find_network(query["network"]).name if "network" in query else None
        after = parse_number(query.get("after", "0"), "after")
        limit = parse_number(query.get("limit", "1000"), "limit")
        if not 1 <= limit <= MAX_LIMIT:
            raise WrongUse(f"limit must be a whole number from 1 to {MAX_LIMIT}, not {limit}.", "limit")
        # Read by the writer's thread, after the ends of all earlier calls.
        page = await self.database.write(
            lambda it: call_log.list_calls(it, network=network, account=query.get("account"), after=after, limit=limit)
        )
        return web.json_response(page)

    async def list_networks(self, request: web.Request) -> web.Response:
        read_query(request)
        kinds = [
            {"fault": name, "meaning": kind.meaning, "params": list(kind.params)} for name, kind in FAULT_KINDS.items()
        ]
        return web.json_response({"data": [render(network) for network in networks().values()], "faults": kinds})

    async def list_accounts(self, request: web.Request) -> web.Response:
        read_query(request)
        return web.json_response(
            {"data": [accounts.render(one) for one in accounts.list_accounts(self.database.reader)]}
        )

    async def add_account(self, request: web.Request) -> web.Response:
        body = await read_body(request, "network", "handle", "count")
        network = find_network(body.get("network"))
        handle = body.get("handle")
        if "count" in body:
            count = parse_count(body)
            opened = await self.database.write(lambda it: accounts.open_accounts(it, network, count))
            return web.json_response({"data": [accounts.render(one) for one in opened]}, status=201)
        if handle is not None and not (isinstance(handle, str) and HANDLE.fullmatch(handle)):
            raise WrongUse(f"handle must consist of letters, digits and . - _, not {handle!r}.", "handle")
        added = await self.database.write(
            lambda it: accounts.open_account(it, network, handle or accounts.next_handle(it, network))
        )
        return web.json_response(accounts.render(added), status=201)

    async def change_account(self, request: web.Request) -> web.Response:
        body = await read_body(request, "blocked", "token_expired", "refresh_expired")
        for name, value in body.items():
            if not isinstance(value, bool):
                raise WrongUse(f"{name} must be true or false, not {value!r}.", name)
        network, handle = find_network(request.match_info["network"]), request.match_info["handle"]
        changed = await self.database.write(lambda it: change_account(it, network, handle, body))
        return web.json_response(accounts.render(changed))

    async def show_settings(self, request: web.Request) -> web.Response:
        read_query(request)
        return web.json_response(settings.read_settings(self.database.reader))

    async def change_settings(self, request: web.Request) -> web.Response:
        body = await read_body(request)
        return web.json_response(await self.database.write(lambda it: settings.change_settings(it, body)))

    async def get_media(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        media = find_media(self.database.reader, name)
        if media is None:
            raise NotFound(f"There is no media file {name}.")
        mime, data = media
        safe = mime if mime in SAFE_MEDIA_TYPES else "application/octet-stream"
        headers = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}
        return web.Response(body=data, content_type=safe, headers=headers)


async def read_body(request: web.Request, *known: str) -> dict[str, Any]:
    try:
        content = json.loads(await request.read() or b"{}")
    except ValueError:
        raise WrongUse("The body is not valid JSON.") from None
    if not isinstance(content, dict):
        raise WrongUse("The body is not a JSON object.")
    for name in content:
        if known and name not in known:
            raise WrongUse(f"Unknown field {name}. The fields are {', '.join(known)}.", name)
    return content


def read_query(request: web.Request, *known: str) -> dict[str, str]:
    for name in request.query:
        if name not in known:
            raise WrongUse(f"Unknown parameter {name}. The parameters are: {', '.join(known) or 'none'}.", name)
    return dict(request.query)


def parse_number(text: str, field: str) -> int:
    number = parse_whole_number(text)
    if number is None:
        raise WrongUse(f"{field} must be a whole number, not {text!r}.", field)
    return number


def parse_count(body: dict[str, Any]) -> int:
    count = body["count"]
    if "handle" in body:
        raise WrongUse("Give either count or handle, not both.", "count")
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MAX_ACCOUNTS:
        raise WrongUse(f"count must be a whole number from 1 to {MAX_ACCOUNTS}, not {count!r}.", "count")
    return count


def find_network(name: Any) -> SandboxNetwork:
    return networks()[faults.parse_choice("network", name, list(networks()))]


def reset_sandbox(connection: apsw.Connection) -> int:
    """Delete the state of the networks, the faults and the counts; the record stays and begins a new epoch."""
    connection.execute("DELETE FROM things")
    connection.execute("DELETE FROM pieces")
    connection.execute("DELETE FROM settings")
    fault_schedule.remove_faults(connection)
    calls.clear(connection)
    accounts.reset_accounts(connection)
    return record.begin_epoch(connection)


def change_account(
    connection: apsw.Connection, network: SandboxNetwork, handle: str, changes: dict[str, bool]
) -> SandboxAccount:
    account = accounts.find_account(connection, network.name, handle)
    if account is None:
        raise NotFound(f"{network.title} has no account {handle}.")
    if "blocked" in changes:
        accounts.set_blocked(connection, account, changes["blocked"])
    for name, kind in (("token_expired", "access"), ("refresh_expired", "refresh")):
        if name in changes:
            accounts.set_expired(connection, account, kind, changes[name])
    changed = accounts.find_account(connection, network.name, handle)
    assert changed is not None
    return changed


def render(network: SandboxNetwork) -> dict[str, Any]:
    return {
        "network": network.name,
        "title": network.title,
        "colour": network.colour,
        "icon": network.icon,
        "endpoints": [
            {
                "name": endpoint.name, "methods": endpoint.methods, "path": endpoint.path, "visible": endpoint.visible,
                "faults": [name for name, kind in FAULT_KINDS.items() if kind.occurs_at(endpoint)],
            }
            for endpoint in network.endpoints
        ],
    }  # fmt: skip
