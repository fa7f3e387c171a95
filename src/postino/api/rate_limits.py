"""Middleware for request ids and rate limits."""

import hashlib
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from uuid import uuid4

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postino.api.authentication import COOKIE, PROOF, Proof, parse_bearer
from postino.api.problems import add_unchanged, problem, request_id
from postino.auth.addresses import group_address
from postino.rules.api_rate_limit import RateLimitDecision, TokenBucket, take_token

REQUEST_ID = re.compile(r"[\w.:/+=-]{1,128}", re.ASCII)
PAYER = "postino.payer"  # key in the scope of the key or user whose budget a request counts against; None: a stranger
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
    """Limits the requests per second of each valid API key, of each user with a session, and of each address without.

    A request with an unknown key counts as one without a key: it counts against its address until the key proves to be
    valid. Counts are kept in this process.
    """

    def __init__(self, app: ASGIApp, *, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.app, self.rate, self.burst, self.clock = app, rate, burst, clock
        self.credentials: OrderedDict[str, str] = OrderedDict()  # only those that were valid, with their payers
        self.payers: OrderedDict[str, TokenBucket] = OrderedDict()
        self.addresses: OrderedDict[str, TokenBucket] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self.rate == 0 or scope["path"].startswith(UNLIMITED):
            await self.app(scope, receive, send)
            return
        credential, address = hash_credential(scope), group_address(str((scope.get("client") or ("",))[0]))
        payer, proof = self.find_payer(credential), Proof()
        decision = self.take(self.addresses, address) if payer is None else self.take(self.payers, payer)

        async def send_with_headers(message: Message) -> None:
            nonlocal decision
            if message["type"] == "http.response.start":
                if proof.accepted and payer is None and credential is not None:
                    self.give_back(address)
                    decision = self.take(self.payers, self.remember(credential, proof.payer))
                elif payer is not None and message["status"] == HTTPStatus.UNAUTHORIZED:
                    self.credentials.pop(credential or "", None)
                MutableHeaders(scope=message).update(self.render_headers(decision))
            await send(message)

        if decision.allowed:
            await self.app({**scope, PROOF: proof, PAYER: payer}, receive, send_with_headers)
            return
        detail = add_unchanged(TOO_MANY.format(self.burst, self.rate, decision.retry_after), scope["method"])
        response = problem(429, detail, None, {"Retry-After": str(decision.retry_after)})
        await response(scope, receive, send_with_headers)

    def find_payer(self, credential: str | None) -> str | None:
        """Return the key or the user of a credential that was valid; None if it is unknown."""
        if credential is None or credential not in self.credentials:
            return None
        self.credentials.move_to_end(credential)
        return self.credentials[credential]

    def remember(self, credential: str, payer: str) -> str:
        """Note that a credential is valid, and return its payer."""
        self.credentials[credential] = payer
        if len(self.credentials) > MAX_CALLERS:
            self.credentials.popitem(last=False)
        return payer

    def take(self, buckets: OrderedDict[str, TokenBucket], caller: str) -> RateLimitDecision:
        decision = take_token(buckets.pop(caller, None), self.rate, self.burst, self.clock())
        buckets[caller] = decision.bucket
        if len(buckets) > MAX_CALLERS:
            buckets.popitem(last=False)  # the least recent caller has recovered most of its allowance
        return decision

    def give_back(self, address: str) -> None:
        """Return the token that a valid key took from its address."""
        if (bucket := self.addresses.get(address)) is not None:
            self.addresses[address] = replace(bucket, tokens=min(self.burst, bucket.tokens + 1))

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
