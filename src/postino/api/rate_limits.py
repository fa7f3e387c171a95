"""Middleware for request ids and rate limits."""

import hashlib
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from uuid import uuid4

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postino.api.authentication import COOKIE, parse_bearer
from postino.api.problems import add_unchanged, problem, request_id
from postino.rules.api_rate_limit import RateLimitDecision, TokenBucket, take_token

REQUEST_ID = re.compile(r"[\w.:/+=-]{1,128}", re.ASCII)
MAX_CALLERS = 10_000
UNLIMITED = ("/health/",)
TOO_MANY = "Too many requests: up to {} at once and {:g} per second are allowed. Send the next in {} s."


class RequestIds:
    """Adds the client's request id, or a new one, to the response, to errors and to every log line."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        name = given if REQUEST_ID.fullmatch(given) else str(uuid4())

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["X-Request-Id"] = name
            await send(message)

        token = request_id.set(name)
        try:
            with structlog.contextvars.bound_contextvars(request_id=name):
                await self.app(scope, receive, send_with_id)
        finally:
            request_id.reset(token)


class RateLimits:
    """Limits the requests per second of each API key or session, or of the IP address if there is neither.

    Counts are kept in this process. A key that is seen for the first time also counts against its address, so that
    invented keys do not evade the limit.
    """

    def __init__(self, app: ASGIApp, *, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.app, self.rate, self.burst, self.clock = app, rate, burst, clock
        self.allowances: OrderedDict[str, TokenBucket] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self.rate == 0 or scope["path"].startswith(UNLIMITED):
            await self.app(scope, receive, send)
            return
        decision = self.decide(scope)
        headers = self.render_headers(decision)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(headers)
            await send(message)

        if decision.allowed:
            await self.app(scope, receive, send_with_headers)
            return
        detail = add_unchanged(TOO_MANY.format(self.burst, self.rate, decision.retry_after), scope["method"])
        response = problem(429, detail, None, {"Retry-After": str(decision.retry_after)})
        await response(scope, receive, send_with_headers)

    def decide(self, scope: Scope) -> RateLimitDecision:
        credential, address = hash_credential(scope), str((scope.get("client") or ("",))[0])
        if credential is None:
            return self.take(address)
        if credential not in self.allowances and not (decision := self.take(address)).allowed:
            return decision
        return self.take(credential)

    def take(self, caller: str) -> RateLimitDecision:
        decision = take_token(self.allowances.pop(caller, None), self.rate, self.burst, self.clock())
        self.allowances[caller] = decision.bucket
        if len(self.allowances) > MAX_CALLERS:
            self.allowances.popitem(last=False)  # the least recent caller has recovered most of its allowance
        return decision

    def render_headers(self, decision: RateLimitDecision) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self.burst),
            "RateLimit-Remaining": str(decision.remaining),
            "RateLimit-Reset": str(decision.reset),
        }


def hash_credential(scope: Scope) -> str | None:
    """Return a hash of the API key or cookie, however it is written; the secret itself is not kept."""
    header = Headers(scope=scope).get("authorization")
    credential = HTTPConnection(scope).cookies.get(COOKIE) if header is None else parse_bearer(header)
    return hashlib.sha256(credential.encode()).hexdigest() if credential else None
