"""Who may ask: whoever has a key, or a cookie of a browser that is signed in. The first key is in `api.key`."""

import hmac
import os
import secrets
import stat
from functools import partial
from pathlib import Path

from fastapi import HTTPException, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from postino.api.authorization import ANYBODY, ROWS, check
from postino.api.body_limits import WITH_BODY
from postino.api.caller import Caller, of_key, of_session
from postino.api.problems import refused, told
from postino.auth.api_keys import PREFIX
from postino.errors import PostinoError
from postino.wiring import Postino

CALLER = "postino.caller"
COOKIE = "__Host-postino"
CSRF_HEADER = "X-CSRF-Token"
SAFE = ("GET", "HEAD", "OPTIONS")
PUBLIC = frozenset(path for (_, path), row in ROWS.items() if row == ANYBODY)
NO_KEY = (
    "This needs the API key: send the header `Authorization: Bearer KEY`. `postino up` shows the key, and it is in"
    " api.key in the data directory."
)
WRONG_KEY = "That is not an API key of this Postino, or not any more. The first is in api.key in its data directory."
SIGNED_OUT = "You are signed out: it was long ago, or somebody ended it. Sign in again."
NO_TOKEN = (
    f"A browser's change needs the header `{CSRF_HEADER}`: its value is the `csrf_token` of `GET /v1/me`. Nothing was"
    " changed."
)


def read_or_create(path: Path) -> str:
    """The key of this file, which is made if there is none: whole or not at all, for its owner only."""
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(PREFIX + secrets.token_urlsafe(32) + "\n")
                file.flush()
                os.fsync(descriptor)
            os.link(temporary, path)  # unlike a rename it does not replace the key that another start has just made
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
    return read(path)


def read(path: Path) -> str:
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise PostinoError(f"{path} can be read or changed by others. Run `chmod 600 {path}`, or remove it.")
    key = path.read_text(errors="replace").strip()
    if len(key) < len(PREFIX) or not key.isascii():
        raise PostinoError(f"{path} holds no key. Remove it, and a new one is made at the next start.")
    return key


def key_in(said: str) -> str | None:
    """The key of the header `Authorization`; None if there is none in it."""
    scheme, _, given = said.partition(" ")
    return given.strip() or None if scheme.lower() == "bearer" else None


class Access:
    """Lets in who may do this; how long a comparison takes tells nothing about a key."""

    def __init__(self, first_key: str, app: Postino) -> None:
        self.first_key = first_key.encode()
        self.app = app

    async def __call__(self, request: Request) -> None:
        caller = request.scope.get(CALLER) or await self.caller(request)
        check(caller, request.method, request.scope["route"].path)
        request.state.caller = caller
        request.state.still = partial(self.is_still, caller, request.headers.get("authorization", ""))

    async def is_still(self, caller: Caller, said: str) -> bool:
        """Who only listens does nothing: that keeps no session awake."""
        if caller.signed_in is not None:
            signed_in = await self.app.sign_in.find_session(caller.signed_in.cookie, touch=False)
            return signed_in is not None and of_session(signed_in) == caller
        try:
            return await self.by_key(said) == caller
        except HTTPException:
            return False

    async def caller(self, request: Request) -> Caller:
        said = request.headers.get("authorization")
        if said is not None:
            return await self.by_key(said)
        cookie = request.cookies.get(COOKIE)
        if cookie is None:
            raise HTTPException(401, NO_KEY, {"WWW-Authenticate": "Bearer"})
        return await self.by_cookie(request, cookie)

    async def by_key(self, said: str) -> Caller:
        text = key_in(said)
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
        return of_key(key)

    async def by_cookie(self, request: Request, cookie: str) -> Caller:
        await self.app.open()
        signed_in = await self.app.sign_in.find_session(cookie)
        if signed_in is None:
            raise HTTPException(401, SIGNED_OUT, {"WWW-Authenticate": "Bearer"})
        token = request.headers.get(CSRF_HEADER, "")
        if request.method not in SAFE and not hmac.compare_digest(token.encode(), signed_in.csrf_token.encode()):
            raise HTTPException(403, NO_TOKEN)
        return of_session(signed_in)


class Door:
    """Of who may not come in not even the body is read, and nobody tells them what is wrong with it."""

    def __init__(self, app: ASGIApp, *, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in WITH_BODY or scope["path"] in PUBLIC:
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        try:
            caller = await self.access.caller(request)
        except HTTPException as error:
            await (await told(request, error))(scope, receive, send)
        except PostinoError as error:
            await (await refused(request, error))(scope, receive, send)
        else:
            await self.app({**scope, CALLER: caller}, receive, send)
