"""What every request has: an id by which logs and answers know it, and how many more its caller may make."""

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

from postino.api.authentication import COOKIE, key_in
from postino.api.problems import problem, request_id, unless_asking
from postino.rules.rate_limit import RateLimitDecision, TokenBucket, take_token

GIVEN = re.compile(r"[\w.:/+=-]{1,128}", re.ASCII)
MOST_CALLERS = 10_000
FREE = ("/health/",)
TOO_MANY = "Too many requests: {} at once are taken, and {:g} more each second. Ask again in {} s."


class RequestIds:
    """Under the id that was given, or one of its own: in the answer, in problems and in every line of the log."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        name = given if GIVEN.fullmatch(given) else str(uuid4())

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["X-Request-Id"] = name
            await send(message)

        known = request_id.set(name)
        try:
            with structlog.contextvars.bound_contextvars(request_id=name):
                await self.app(scope, receive, sending)
        finally:
            request_id.reset(known)


class RateLimits:
    """So many a second for each key, counted in this process; who has none is known by its address.

    A key that comes for the first time is at its address's expense: who invents keys is not somebody new each time.
    """

    def __init__(self, app: ASGIApp, *, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.app, self.rate, self.burst, self.clock = app, rate, burst, clock
        self.known: OrderedDict[str, TokenBucket] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self.rate == 0 or scope["path"].startswith(FREE):
            await self.app(scope, receive, send)
            return
        answered = self.admitted(scope)
        headers = self.told(answered)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(headers)
            await send(message)

        if answered.allowed:
            await self.app(scope, receive, sending)
            return
        said = unless_asking(TOO_MANY.format(self.burst, self.rate, answered.retry_after), scope["method"])
        refusal = problem(429, said, None, {"Retry-After": str(answered.retry_after)})
        await refusal(scope, receive, sending)

    def admitted(self, scope: Scope) -> RateLimitDecision:
        shown, address = shown_in(scope), str((scope.get("client") or ("",))[0])
        if shown is None:
            return self.ask(address)
        if shown not in self.known and not (newcomer := self.ask(address)).allowed:
            return newcomer
        return self.ask(shown)

    def ask(self, caller: str) -> RateLimitDecision:
        answered = take_token(self.known.pop(caller, None), self.rate, self.burst, self.clock())
        self.known[caller] = answered.bucket
        if len(self.known) > MOST_CALLERS:
            self.known.popitem(last=False)  # who asked least recently has most of its allowance back
        return answered

    def told(self, answered: RateLimitDecision) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self.burst),
            "RateLimit-Remaining": str(answered.remaining),
            "RateLimit-Reset": str(answered.reset),
        }


def shown_in(scope: Scope) -> str | None:
    """The same, however it is written. Not the key itself: nobody needs it here."""
    said = Headers(scope=scope).get("authorization")
    shown = HTTPConnection(scope).cookies.get(COOKIE) if said is None else key_in(said)
    return hashlib.sha256(shown.encode()).hexdigest() if shown else None
