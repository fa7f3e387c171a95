"""`/v1/login`, `/v1/logout`, `/v1/me` and the sign-in link: how people come in, with a cookie no script can read.

The cookie is `__Host-postino`: Secure, HttpOnly, for this host alone. Browsers keep it over https, and over plain http
from their own machine; where it would not be kept, and a password would cross the network in plain sight, logging in
is refused.
"""

import ipaddress
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import Field
from starlette.responses import Response

from postino.api.authentication import COOKIE
from postino.api.caller import Caller, caller_of
from postino.api.models import Strict
from postino.api.problems import problem
from postino.api.query import query_of
from postino.api.status_page.page import told_to_people
from postino.api.views.fields import to_json
from postino.api.views.users import render_brands
from postino.auth.sign_in import BrowserSession, SignInRefused, SignInThrottled, log_refusal
from postino.rules.login_throttle import SESSION_LIFETIME
from postino.wiring import Postino

NEVER_KEPT = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
WRONG = "There is no user with this name and this password."
TOO_MANY = "Too many tries. The next may be made in {seconds} seconds; if you forgot the password, ask an owner."
IN_PLAIN_SIGHT = "Signing in needs https, or a browser on the machine itself: otherwise others could read along."
ELSEWHERE = "This came from a page of another site. Nothing was changed."
SPENT = "This link was used already, or is too old. `postino up` shows a new one, and so does `postino users link`."

OTHERWISE = "Who has no terminal asks an owner for a new link. It works once, within ten minutes."


class LoginBody(Strict):
    """`POST /v1/login`."""

    name: Annotated[str, Field(max_length=200)]
    password: Annotated[str, Field(max_length=1000)]


def public_routes(app: Postino) -> APIRouter:
    """Without a key, because this is how one gets in."""
    router = APIRouter(tags=["people"])

    @router.post("/v1/login")
    async def login(request: Request, body: LoginBody) -> JSONResponse:
        """Signs a browser in: its cookie, and the `csrf_token` for its changes."""
        check_place(request)
        check_origin(request)
        match await app.sign_in.login(body.name, body.password, address_of(request)):
            case BrowserSession() as signed_in:
                answer = JSONResponse(of_signed_in(signed_in), headers=NEVER_KEPT)
                set_cookie(answer, signed_in)
                return answer
            case SignInThrottled(seconds):
                told = TOO_MANY.format(seconds=seconds)
                return problem(429, told, None, {"Retry-After": str(seconds)})
            case SignInRefused():
                return problem(401, WRONG)

    @router.get("/sign-in", include_in_schema=False)
    async def follow_sign_in_link(request: Request) -> Response:
        """Signs a browser in, once, and goes on to the first page."""
        to_people = "text/html" in request.headers.get("accept", "")
        if to_people and not is_safe(request):
            return told_to_people(403, "You are not signed in", IN_PLAIN_SIGHT)
        check_place(request)
        signed_in = await app.sign_in.follow_link(query_of(request, "token").get("token", ""))
        if signed_in is None:
            log_refusal(None, address_of(request))
            if to_people:
                return told_to_people(401, "This link signs nobody in", SPENT, OTHERWISE)
            return problem(401, SPENT, None, NEVER_KEPT)
        answer = RedirectResponse("/", 303, NEVER_KEPT)
        set_cookie(answer, signed_in)
        return answer

    return router


def routes(app: Postino) -> APIRouter:
    router = APIRouter(tags=["people"])

    @router.get("/v1/me")
    async def me(request: Request) -> JSONResponse:
        """Who asks, and what they may do; in a browser also the `csrf_token`."""
        return JSONResponse(of_caller(caller_of(request)), headers=NEVER_KEPT)

    @router.post("/v1/logout", status_code=204)
    async def logout(request: Request) -> Response:
        """Ends the session: 204. A key is not ended by this."""
        signed_in = caller_of(request).signed_in
        answer = Response(status_code=204)
        if signed_in is not None:
            await app.sign_in.logout(signed_in)
            answer.delete_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="lax")
        return answer

    return router


def of_caller(caller: Caller) -> dict[str, object]:
    told = {"name": caller.name, "role": caller.role.value, "brands": render_brands(caller.brands)}
    return told | ({} if caller.signed_in is None else of_signed_in(caller.signed_in))


def of_signed_in(signed_in: BrowserSession) -> dict[str, object]:
    user = signed_in.user
    return {
        "name": f"user:{user.name}",
        "role": user.role.value,
        "brands": render_brands(user.brands),
        "csrf_token": signed_in.csrf_token,
        "expires_at": to_json(signed_in.expires_at),
    }


def set_cookie(answer: Response, signed_in: BrowserSession) -> None:
    age = int(SESSION_LIFETIME.total_seconds())
    answer.set_cookie(COOKIE, signed_in.cookie, max_age=age, path="/", secure=True, httponly=True, samesite="lax")


def is_safe(request: Request) -> bool:
    return request.url.scheme == "https" or is_here(address_of(request))


def check_place(request: Request) -> None:
    if not is_safe(request):
        raise HTTPException(403, IN_PLAIN_SIGHT)


def check_origin(request: Request) -> None:
    """Nobody is signed in as somebody else by a page they happen to look at."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise HTTPException(403, ELSEWHERE)


def address_of(request: Request) -> str:
    return "" if request.client is None else request.client.host


def is_here(address: str) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback
