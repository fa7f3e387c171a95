"""Authentication: by API key in the header `Authorization`, or by the session cookie of a signed-in browser."""

import hmac
from dataclasses import dataclass
from typing import Protocol

from fastapi import HTTPException, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from postino.api.caller import CALLER, Caller, from_api_key, from_session
from postino.api.problems import render_http_error, render_postino_error
from postino.api.routes import METHODS_WITH_BODY, SAFE_METHODS
from postino.auth.api_keys import PREFIX
from postino.errors import PostinoError
from postino.wiring import Postino

PROOF = "postino.proof"
COOKIE = "__Host-postino"
CSRF_HEADER = "X-CSRF-Token"
NO_KEY = (
    "Authentication is missing: send the header `Authorization: Bearer KEY`. `postino up` shows the key, and it is in"
    " api.key in the data directory."
)
WRONG_KEY = (
    "The API key is invalid, expired or revoked. The first key of this server is in api.key in its data directory."
)
SIGNED_OUT = "The session has expired or was ended. Sign in again."
NO_CSRF_TOKEN = (
    f"A change from a browser needs the header `{CSRF_HEADER}` with the `csrf_token` of `GET /v1/me`. Nothing was"
    " changed."
)


@dataclass(slots=True)
class Proof:
    """Whether the API key or session of a request is valid. The rate limit has already counted the request.

    `payer` is the key or the user: all sessions of a user count together.
    """

    accepted: bool = False
    payer: str = ""


class Authenticator(Protocol):
    """Authenticates the sender of a request. Raises HTTPException 401 or 403 if that fails."""

    async def authenticate(self, request: Request) -> Caller: ...

    async def is_still_valid(self, caller: Caller, request: Request) -> bool: ...


class FixedCaller:
    """Authenticates every request as the same caller: for requests within this process."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller

    async def authenticate(self, request: Request) -> Caller:
        return self.caller

    async def is_still_valid(self, caller: Caller, request: Request) -> bool:
        return True


class KeyAuthenticator:
    """Authenticates by API key or session cookie. Keys are compared in constant time."""

    def __init__(self, first_key: str, app: Postino) -> None:
        self.first_key = first_key.encode()
        self.app = app

    async def authenticate(self, request: Request) -> Caller:
        known: Caller | None = request.scope.get(CALLER)
        caller = known or await self.find_caller(request)
        if (proof := request.scope.get(PROOF)) is not None:
            proof.accepted, proof.payer = True, caller.key
        return caller

    async def find_caller(self, request: Request) -> Caller:
        header = request.headers.get("authorization")
        if header is not None:
            return await self.check_key(header)
        cookie = request.cookies.get(COOKIE)
        if cookie is None:
            raise HTTPException(401, NO_KEY, {"WWW-Authenticate": "Bearer"})
        return await self.check_cookie(request, cookie)

    async def is_still_valid(self, caller: Caller, request: Request) -> bool:
        """Return whether the key or session is still the same. This does not extend a session."""
        if caller.session is not None:
            session = await self.app.sign_in.find_session(caller.session.cookie, touch=False)
            return session is not None and from_session(session) == caller
        try:
            return await self.check_key(request.headers.get("authorization", "")) == caller
        except HTTPException:
            return False

    async def check_key(self, header: str) -> Caller:
        text = parse_bearer(header)
        if text is None:
            raise HTTPException(401, NO_KEY, {"WWW-Authenticate": "Bearer"})
        if hmac.compare_digest(text.encode(), self.first_key):
            return Caller("api", "api.key")
        key = None
        if text.startswith(PREFIX):
            await self.app.open()
            key = await self.app.api_keys.authenticate(text)
        if key is None:
            raise HTTPException(401, WRONG_KEY, {"WWW-Authenticate": 'Bearer error="invalid_token"'})
        return from_api_key(key)

    async def check_cookie(self, request: Request, cookie: str) -> Caller:
        await self.app.open()
        session = await self.app.sign_in.find_session(cookie)
        if session is None:
            raise HTTPException(401, SIGNED_OUT, {"WWW-Authenticate": "Bearer"})
        token = request.headers.get(CSRF_HEADER, "")
        if request.method not in SAFE_METHODS and not hmac.compare_digest(token.encode(), session.csrf_token.encode()):
            raise HTTPException(403, NO_CSRF_TOKEN)
        return from_session(session)


def parse_bearer(header: str) -> str | None:
    """Return the key in the header `Authorization`; None if it holds none."""
    scheme, _, key = header.partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None


class EarlyAuthentication:
    """Middleware: authenticate requests with a body before the body is read or checked."""

    def __init__(self, app: ASGIApp, *, authenticator: Authenticator, public: frozenset[str]) -> None:
        self.app, self.authenticator, self.public = app, authenticator, public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in METHODS_WITH_BODY or scope["path"] in self.public:
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        try:
            caller = await self.authenticator.authenticate(request)
        except HTTPException as error:
            await (await render_http_error(request, error))(scope, receive, send)
        except PostinoError as error:
            await (await render_postino_error(request, error))(scope, receive, send)
        else:
            await self.app({**scope, CALLER: caller}, receive, send)
