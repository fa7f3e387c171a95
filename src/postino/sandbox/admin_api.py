"""The admin door under `/_sandbox`: what was published, what shall go wrong, and who may call."""

import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import apsw
from aiohttp import web

from postino.errors import Conflict, NotFound, PostinoError, WrongUse
from postino.sandbox import accounts, call_log, calls, fault_schedule, faults, record, samples, settings
from postino.sandbox.dispatch import Switchboard
from postino.sandbox.faults import KINDS
from postino.sandbox.network import Network, whole_number
from postino.sandbox.network_state import Account
from postino.sandbox.networks import networks

STATUS = {WrongUse: 422, NotFound: 404, Conflict: 409}
TITLES = {422: "Wrong use", 404: "Not found", 409: "Conflict", 403: "Forbidden"}
SHOWN_AS_THEY_ARE = {"image/jpeg", "image/png", "image/gif", "image/webp", "video/mp4", "video/quicktime"}
MOST_AT_ONCE = 10_000
MOST_ACCOUNTS = 1_000
HANDLE = re.compile(r"[\w.-]{1,200}", re.ASCII)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def refusals(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Problem details for whatever is refused, and nothing at all for pages of other origins."""
    if not request.path.startswith("/_sandbox/"):
        return await handler(request)
    origin = request.headers.get("Origin")
    if origin is not None and origin != f"{request.scheme}://{request.host}":
        return problem(403, "Pages of other origins have no business here.")
    try:
        return await handler(request)
    except PostinoError as refusal:
        status = next(status for kind, status in STATUS.items() if isinstance(refusal, kind))
        return problem(status, str(refusal), getattr(refusal, "field", None))


def problem(status: int, detail: str, field: str | None = None) -> web.Response:
    body = {"type": "about:blank", "title": TITLES[status], "status": status, "detail": detail}
    return web.json_response(
        body | ({"field": field} if field else {}), status=status, content_type="application/problem+json"
    )


class Door:
    def __init__(self, switchboard: Switchboard) -> None:
        self.switchboard = switchboard
        self.database = switchboard.database

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/_sandbox/published", self.published),
            web.get("/_sandbox/faults", self.list_faults),
            web.post("/_sandbox/faults", self.add_fault),
            web.delete("/_sandbox/faults", self.remove_faults),
            web.delete("/_sandbox/faults/{id}", self.remove_fault),
            web.post("/_sandbox/reset", self.reset),
            web.get("/_sandbox/calls", self.calls),
            web.get("/_sandbox/calls/log", self.log),
            web.get("/_sandbox/networks", self.networks),
            web.get("/_sandbox/accounts", self.list_accounts),
            web.post("/_sandbox/accounts", self.add_account),
            web.post("/_sandbox/accounts/{network}/{handle}", self.change_account),
            web.get("/_sandbox/settings", self.show_settings),
            web.post("/_sandbox/settings", self.change_settings),
            web.get("/_sandbox/media/{name}", self.media),
        ]

    async def published(self, request: web.Request) -> web.Response:
        told = query(request, "all", "after", "network")
        reader = self.database.reader
        found = record.published(
            reader,
            all_epochs=told.get("all") in ("1", "true"),
            after=number_in(told.get("after", "0"), "after"),
            network=network_of(told["network"]).name if "network" in told else None,
        )
        return web.json_response({"data": found, "epoch": record.epoch(reader)})

    async def list_faults(self, request: web.Request) -> web.Response:
        everything = query(request, "all").get("all") in ("1", "true")
        found = (
            fault_schedule.every(self.database.reader) if everything else fault_schedule.waiting(self.database.reader)
        )
        return web.json_response({"data": [fault_schedule.shown(fault) for fault in found]})

    async def add_fault(self, request: web.Request) -> web.Response:
        fault = faults.parse(await body(request))
        added = await self.database.write(lambda it: fault_schedule.add(it, fault))
        return web.json_response(fault_schedule.shown(added), status=201)

    async def remove_faults(self, request: web.Request) -> web.Response:
        told = query(request, "network").get("network")
        network = None if told is None else faults.one_of("network", told, [faults.ANY, *networks()])
        return web.json_response(
            {"removed": await self.database.write(lambda it: fault_schedule.remove(it, None, network))}
        )

    async def remove_fault(self, request: web.Request) -> web.Response:
        number = number_in(request.match_info["id"], "id")
        if not await self.database.write(lambda it: fault_schedule.remove(it, number)):
            raise NotFound(f"There is no fault {number}.")
        return web.json_response({"removed": 1})

    async def reset(self, request: web.Request) -> web.Response:
        return web.json_response({"epoch": await self.database.write(reset)})

    async def calls(self, request: web.Request) -> web.Response:
        query(request)
        return web.json_response(calls.shown(self.database.reader, self.switchboard.flights))

    async def log(self, request: web.Request) -> web.Response:
        told = query(request, "network", "account", "after", "limit")
        network = network_of(told["network"]).name if "network" in told else None
        after = number_in(told.get("after", "0"), "after")
        limit = number_in(told.get("limit", "1000"), "limit")
        if not 1 <= limit <= MOST_AT_ONCE:
            raise WrongUse(f"limit is a whole number from 1 to {MOST_AT_ONCE}, not {limit}.", "limit")
        # Asked of the writer, which has written by then whatever ended before.
        found = await self.database.write(
            lambda it: call_log.page(it, network=network, account=told.get("account"), after=after, limit=limit)
        )
        return web.json_response(found)

    async def networks(self, request: web.Request) -> web.Response:
        query(request)
        kinds = [{"fault": name, "meaning": kind.meaning, "params": list(kind.params)} for name, kind in KINDS.items()]
        return web.json_response({"data": [shown(network) for network in networks().values()], "faults": kinds})

    async def list_accounts(self, request: web.Request) -> web.Response:
        query(request)
        return web.json_response({"data": [accounts.shown(one) for one in accounts.every(self.database.reader)]})

    async def add_account(self, request: web.Request) -> web.Response:
        told = await body(request, "network", "handle", "count")
        network = network_of(told.get("network"))
        handle = told.get("handle")
        if "count" in told:
            count = checked_count(told)
            opened = await self.database.write(lambda it: accounts.open_accounts(it, network, count))
            return web.json_response({"data": [accounts.shown(one) for one in opened]}, status=201)
        if handle is not None and not (isinstance(handle, str) and HANDLE.fullmatch(handle)):
            raise WrongUse(f"handle is made of letters, digits and the signs . - _, not {handle!r}.", "handle")
        added = await self.database.write(
            lambda it: accounts.open_account(it, network, handle or accounts.next_handle(it, network))
        )
        return web.json_response(accounts.shown(added), status=201)

    async def change_account(self, request: web.Request) -> web.Response:
        told = await body(request, "blocked", "token_expired", "refresh_expired")
        for name, value in told.items():
            if not isinstance(value, bool):
                raise WrongUse(f"{name} is true or false, not {value!r}.", name)
        network, handle = network_of(request.match_info["network"]), request.match_info["handle"]
        changed = await self.database.write(lambda it: change_account(it, network, handle, told))
        return web.json_response(accounts.shown(changed))

    async def show_settings(self, request: web.Request) -> web.Response:
        query(request)
        return web.json_response(settings.settings(self.database.reader))

    async def change_settings(self, request: web.Request) -> web.Response:
        told = await body(request)
        return web.json_response(await self.database.write(lambda it: settings.change(it, told)))

    async def media(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        found = samples.read_sample(name) or find_media(self.database.reader, name)
        if found is None:
            raise NotFound(f"There is no picture or film {name}.")
        mime, data = found
        safe = mime if mime in SHOWN_AS_THEY_ARE else "application/octet-stream"
        headers = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}
        return web.Response(body=data, content_type=safe, headers=headers)


async def body(request: web.Request, *known: str) -> dict[str, Any]:
    try:
        told = json.loads(await request.read() or b"{}")
    except ValueError:
        raise WrongUse("The body is not valid JSON.") from None
    if not isinstance(told, dict):
        raise WrongUse("The body is not a JSON object.")
    for name in told:
        if known and name not in known:
            raise WrongUse(f"{name} is not known here; {', '.join(known)} are.", name)
    return told


def query(request: web.Request, *known: str) -> dict[str, str]:
    for name in request.query:
        if name not in known:
            raise WrongUse(f"{name} is not known here; {', '.join(known) or 'nothing'} is.", name)
    return dict(request.query)


def number_in(text: str, field: str) -> int:
    number = whole_number(text)
    if number is None:
        raise WrongUse(f"{field} is a whole number, not {text!r}.", field)
    return number


def checked_count(told: dict[str, Any]) -> int:
    count = told["count"]
    if "handle" in told:
        raise WrongUse("Accounts are opened by count or by handle, not by both.", "count")
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_ACCOUNTS:
        raise WrongUse(f"count is a whole number from 1 to {MOST_ACCOUNTS}, not {count!r}.", "count")
    return count


def network_of(name: Any) -> Network:
    return networks()[faults.one_of("network", name, list(networks()))]


def reset(connection: apsw.Connection) -> int:
    """Forgets what the networks know, the faults and the counts; the record stays, and begins a new epoch."""
    connection.execute("DELETE FROM things")
    connection.execute("DELETE FROM pieces")
    connection.execute("DELETE FROM settings")
    fault_schedule.remove(connection)
    calls.forget(connection)
    accounts.restore(connection)
    return record.begin_epoch(connection)


def change_account(connection: apsw.Connection, network: Network, handle: str, told: dict[str, bool]) -> Account:
    account = accounts.find(connection, network.name, handle)
    if account is None:
        raise NotFound(f"{network.title} has no account {handle}.")
    if "blocked" in told:
        accounts.block(connection, account, told["blocked"])
    for name, kind in (("token_expired", "access"), ("refresh_expired", "refresh")):
        if name in told:
            accounts.expire(connection, account, kind, told[name])
    changed = accounts.find(connection, network.name, handle)
    assert changed is not None
    return changed


def find_media(connection: apsw.Connection, id: str) -> tuple[str, bytes] | None:
    rows = connection.execute("SELECT mime, bytes FROM media WHERE id = ?", (id,))
    return next(((mime, data) for mime, data in rows), None)


def shown(network: Network) -> dict[str, Any]:
    return {
        "network": network.name,
        "title": network.title,
        "colour": network.colour,
        "icon": network.icon,
        "endpoints": [
            {
                "name": endpoint.name, "methods": endpoint.methods, "path": endpoint.path, "visible": endpoint.visible,
                "faults": [name for name, kind in KINDS.items() if kind.at(endpoint)],
            }
            for endpoint in network.endpoints
        ],
    }  # fmt: skip
