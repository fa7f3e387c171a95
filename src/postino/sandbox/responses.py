"""Send a response: complete, cut in half, as HTML, too late, or not at all."""

import asyncio
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any

from aiohttp import web

from postino.sandbox.faults import TIMEOUT_SECONDS, ScheduledFault
from postino.sandbox.network import Reply, SandboxNetwork

DEFAULT_WAIT_SECONDS = 60
PAGE = "<!DOCTYPE html><html><head><title>{0}</title></head><body><center><h1>{0}</h1></center></body></html>\n"


async def send(
    request: web.Request, network: SandboxNetwork, reply: Reply, fault: ScheduledFault | None
) -> web.StreamResponse:
    """Send the network's reply as the fault changes it."""
    match fault.fault if fault else None:
        case "drop" | "process_then_drop" | "lost_refresh":
            return close_connection(request)
        case "process_then_500":
            return build_response(network.reply_internal_error())
        case "error_but_published" if reply.status < 400:
            return build_response(network.reply_misleading_error())
        case "timeout":
            assert fault
            await asyncio.sleep(fault.params.get("seconds", TIMEOUT_SECONDS))
            return build_error_page(504)
        case "truncated":
            assert fault
            return await send_half(request, reply, hangs_up=fault.params.get("hang_up", False))
        case "html":
            assert fault
            return build_error_page(fault.params.get("status", 502))
        case _:
            return build_response(reply)


def build_response(reply: Reply) -> web.Response:
    return web.Response(status=reply.status, body=encode_body(reply), headers=build_headers(reply))


def encode_body(reply: Reply) -> bytes:
    match reply.body:
        case None:
            return b""
        case bytes():
            return reply.body
        case body:
            return json.dumps(body, ensure_ascii=False).encode()


def build_headers(reply: Reply) -> Mapping[str, str]:
    return {"Content-Type": "application/json; charset=utf-8", **reply.headers}


def close_connection(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def send_half(request: web.Request, reply: Reply, *, hangs_up: bool) -> web.StreamResponse:
    body = encode_body(reply)
    half = body[: len(body) // 2]
    if not half:
        return close_connection(request)
    if not hangs_up:
        return web.Response(status=reply.status, body=half, headers=build_headers(reply))
    response = web.StreamResponse(status=reply.status, headers=build_headers(reply))
    response.content_length = len(body)
    await response.prepare(request)
    await response.write(half)
    if request.transport is not None:
        request.transport.close()
    return response


def build_error_page(status: int) -> web.Response:
    reason = {502: "502 Bad Gateway", 503: "503 Service Unavailable", 504: "504 Gateway Time-out"}
    return web.Response(status=status, text=PAGE.format(reason.get(status, f"{status}")), content_type="text/html")


def build_rate_limit_reply(network: SandboxNetwork, params: Mapping[str, Any], now: datetime) -> Reply:
    """Build a 429 reply with the hint of the fault's parameters: seconds, a date, the network's header or none."""
    if "reset" in params:
        return network.reply_rate_limited(math.ceil(params["reset"]), now)
    if "http_date" in params:
        return build_dated_reply(network, params["http_date"], params.get("seconds", DEFAULT_WAIT_SECONDS), now)
    if "seconds" in params:
        wait = math.ceil(params["seconds"])
        return add_retry_after(network.reply_rate_limited(wait, now), str(wait), now + timedelta(seconds=wait))
    return network.reply_rate_limited(None, now)


def build_dated_reply(network: SandboxNetwork, date: object, seconds: float, now: datetime) -> Reply:
    if isinstance(date, str):
        return add_retry_after(network.reply_rate_limited(None, now), date, parse_date(date))
    wait = seconds if date is True else float(date)  # type: ignore[arg-type] # checked when the fault was made
    # An HTTP date has whole seconds. Round up, or the limit would end too early; the network's header must agree.
    until = (now + timedelta(seconds=wait) + timedelta(microseconds=999_999)).replace(microsecond=0)
    reply = network.reply_rate_limited(math.ceil((until - now).total_seconds()), now)
    return add_retry_after(reply, format_datetime(until.astimezone(UTC), usegmt=True), until)


def parse_date(text: str) -> datetime | None:
    """Return the time of an HTTP date, or None if it is none."""
    try:
        return parsedate_to_datetime(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def add_retry_after(reply: Reply, retry_after: str, retry_at: datetime | None) -> Reply:
    return replace(reply, headers={**reply.headers, "Retry-After": retry_after}, retry_at=retry_at)


def get_sent_status(request: web.Request, response: web.StreamResponse) -> int | None:
    """Return the status that was sent, or None if the connection was closed without a response."""
    gone = request.transport is None or request.transport.is_closing()
    return None if gone and not response.prepared else response.status
