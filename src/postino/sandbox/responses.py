"""How an answer leaves: whole, cut in half, as a page, too late, or not at all."""

import asyncio
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any

from aiohttp import web

from postino.sandbox.faults import LONGER_THAN_ANYBODY_WAITS, Fault
from postino.sandbox.network import Network, Reply

SECONDS_UNTOLD = 60
PAGE = "<!DOCTYPE html><html><head><title>{0}</title></head><body><center><h1>{0}</h1></center></body></html>\n"


async def send(request: web.Request, network: Network, reply: Reply, fault: Fault | None) -> web.StreamResponse:
    """`reply` is what the network would have said without the fault."""
    match fault.fault if fault else None:
        case "drop" | "process_then_drop" | "lost_refresh":
            return hang_up(request)
        case "process_then_500":
            return whole(network.internal_error())
        case "error_but_published" if reply.status < 400:
            return whole(network.published_anyway())
        case "timeout":
            assert fault
            await asyncio.sleep(fault.params.get("seconds", LONGER_THAN_ANYBODY_WAITS))
            return page(504)
        case "truncated":
            assert fault
            return await cut(request, reply, hangs_up=fault.params.get("hang_up", False))
        case "html":
            assert fault
            return page(fault.params.get("status", 502))
        case _:
            return whole(reply)


def whole(reply: Reply) -> web.Response:
    return web.Response(status=reply.status, body=encoded(reply), headers=headers_of(reply))


def encoded(reply: Reply) -> bytes:
    match reply.body:
        case None:
            return b""
        case bytes():
            return reply.body
        case body:
            return json.dumps(body, ensure_ascii=False).encode()


def headers_of(reply: Reply) -> Mapping[str, str]:
    return {"Content-Type": "application/json; charset=utf-8", **reply.headers}


def hang_up(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def cut(request: web.Request, reply: Reply, *, hangs_up: bool) -> web.StreamResponse:
    body = encoded(reply)
    half = body[: len(body) // 2]
    if not half:
        return hang_up(request)
    if not hangs_up:
        return web.Response(status=reply.status, body=half, headers=headers_of(reply))
    response = web.StreamResponse(status=reply.status, headers=headers_of(reply))
    response.content_length = len(body)
    await response.prepare(request)
    await response.write(half)
    if request.transport is not None:
        request.transport.close()
    return response


def page(status: int) -> web.Response:
    reason = {502: "502 Bad Gateway", 503: "503 Service Unavailable", 504: "504 Gateway Time-out"}
    return web.Response(status=status, text=PAGE.format(reason.get(status, f"{status}")), content_type="text/html")


def rate_limited(network: Network, told: Mapping[str, Any], now: datetime) -> Reply:
    """The hint is where the fault's params say: seconds, a date, the network's own header, or nowhere."""
    if "reset" in told:
        return network.rate_limited(math.ceil(told["reset"]), now)
    if "http_date" in told:
        return dated(network, told["http_date"], told.get("seconds", SECONDS_UNTOLD), now)
    if "seconds" in told:
        wait = math.ceil(told["seconds"])
        return with_header(network.rate_limited(wait, now), str(wait), now + timedelta(seconds=wait))
    return network.rate_limited(None, now)


def dated(network: Network, date: object, seconds: float, now: datetime) -> Reply:
    if isinstance(date, str):
        return with_header(network.rate_limited(None, now), date, read_date(date))
    wait = seconds if date is True else float(date)  # type: ignore[arg-type] # checked when the fault was made
    # A date has no fractions: cut off, it would be over too early. Whatever else the network says agrees with it.
    until = (now + timedelta(seconds=wait) + timedelta(microseconds=999_999)).replace(microsecond=0)
    reply = network.rate_limited(math.ceil((until - now).total_seconds()), now)
    return with_header(reply, format_datetime(until.astimezone(UTC), usegmt=True), until)


def read_date(text: str) -> datetime | None:
    """None if it is no date that a caller could keep to."""
    try:
        return parsedate_to_datetime(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def with_header(reply: Reply, retry_after: str, retry_at: datetime | None) -> Reply:
    return replace(reply, headers={**reply.headers, "Retry-After": retry_after}, retry_at=retry_at)


def answered(request: web.Request, response: web.StreamResponse) -> int | None:
    """The status that left, or leaves now; None where the connection was closed instead."""
    gone = request.transport is None or request.transport.is_closing()
    return None if gone and not response.prepared else response.status
