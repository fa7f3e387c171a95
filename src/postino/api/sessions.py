"""`/v1/login`, `/v1/logout`, `/v1/me` and the sign-in link: sessions of browsers, in a cookie no script can read.

The cookie `__Host-postino` is Secure and HttpOnly. Browsers keep it over https, and over plain http only for their own
machine. Elsewhere a password would cross the network unencrypted, so signing in is refused there.
"""

import ipaddress
from typing import Annotated

from fastapi import HTTPException, Request
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import Field
from starlette.responses import Response

from postino.api.authentication import COOKIE
from postino.api.caller import Caller, from_session
from postino.api.context import Context, RequestContext
from postino.api.models import Reason, Strict
from postino.api.problems import problem
from postino.api.query import text_parameter
from postino.api.routes import BodyLimit, Routes
from postino.api.status_page.page import render_message
from postino.api.views.fields import to_json
from postino.api.views.users import render_names, render_user
from postino.auth.sign_in import BrowserSession, SignInRefused, SignInThrottled
from postino.client.types.auth import CallerView, SessionView, UserView
from postino.client.types.schema import Doc
from postino.rules.sign_in import SESSION_LIFETIME
from postino.values.auth import Role, User

routes = Routes("sessions")
WRONG_PASSWORD = "The user name or the password is wrong."
TOO_MANY = "Too many attempts. Try again in {seconds} seconds; if you forgot the password, ask an owner."
NOT_SECURE = (
    "Signing in needs https, or a browser on the machine itself: otherwise others could read the password. Behind a"
    " proxy with https, name the address of the proxy in the setting `api.trusted_proxies`."
)
PROXY_HEADERS = ("forwarded", "via", "x-forwarded-for", "x-forwarded-proto", "x-real-ip")
OTHER_SITE = "The request came from a page of another site. Nothing was changed."
LINK_USED = "This link was used already, or has expired. `postino up` and `postino users link` show a new one."
LINK_ADVICE = "Without a terminal, ask an owner for a new link. It works once, within ten minutes."
TOKEN = text_parameter("token", "Token of the sign-in link.")


class LoginBody(Strict):
    """Name and password of a user."""

    name: Annotated[str, Field(max_length=200), Doc("Name of the user.")]
    password: Annotated[str, Field(max_length=1000), Doc("Password of the user.")]


@routes.add(
    "POST",
    "/v1/login",
    role=None,
    body=BodyLimit(max_bytes=20_000, max_fields=20),
    responses={200: SessionView},
    errors={
        401: "The user name or the password is wrong.",
        403: "The connection is not secure, or another site sent this request.",
    },
)
async def log_in(body: LoginBody, context: Context) -> JSONResponse:
    """Log in.

    Signs a browser in: sets the session cookie and returns the `csrf_token`. The browser must send this token with
    every request other than GET. Programs use an API key instead.
    """
    request = context.request
    check_secure(request)
    check_origin(request)
    match await context.app.sign_in.login(body.name, body.password, get_address(request)):
        case BrowserSession() as session:
            await end_earlier_session(context)
            response = JSONResponse(render_session(session))
            set_cookie(response, session)
            return response
        case refusal:
            return render_refusal(refusal)


class PasswordBody(Strict):
    """Name and password of a user, and a new password."""

    name: Annotated[str, Field(max_length=200), Doc("Name of the user.")]
    password: Annotated[str, Field(max_length=1000), Doc("Present password of the user.")]
    new_password: Annotated[str, Field(max_length=1000), Doc("New password: 12 to 200 characters, hard to guess.")]
    reason: Annotated[Reason, Doc("The reason, for the audit trail.")] = ""


@routes.add(
    "POST",
    "/v1/login/password",
    role=None,
    body=BodyLimit(max_bytes=20_000, max_fields=20),
    responses={200: UserView},
    errors={
        401: "The user name or the password is wrong.",
        403: "The connection is not secure, or another site sent this request.",
        409: "An owner changed the password in the meantime.",
    },
)
async def edit_own_password(body: PasswordBody, context: Context) -> JSONResponse:
    """Edit own password.

    Gives a user who knows the present password a new one, and ends all sessions of the user except the session of this
    browser. Wrong passwords count as failed sign-ins. An owner can set the password of any user with
    `PATCH /v1/users/{user_id}`.
    """
    request = context.request
    check_secure(request)
    check_origin(request)
    address, rest = get_address(request), {"cookie": request.cookies.get(COOKIE), "reason": body.reason}
    result = await context.app.sign_in.change_password(body.name, body.password, body.new_password, address, **rest)
    return JSONResponse(render_user(result)) if isinstance(result, User) else render_refusal(result)


@routes.add("GET", "/sign-in", role=None, query=(TOKEN,), in_schema=False)
async def follow_sign_in_link(context: Context) -> Response:
    """Follow sign-in link.

    Signs a browser in, once, and redirects to the status page.
    """
    request = context.request
    wants_html = "text/html" in request.headers.get("accept", "")
    if wants_html and not is_secure(request):
        return render_message(403, "You are not signed in", NOT_SECURE)
    check_secure(request)
    session = await context.app.sign_in.follow_link(context.query[TOKEN] or "")
    if session is None:
        context.app.sign_in.log_refusal(None, get_address(request))
        if wants_html:
            return render_message(401, "This link is not valid", LINK_USED, LINK_ADVICE)
        return problem(401, LINK_USED)
    await end_earlier_session(context)
    response = RedirectResponse("/", 303)
    set_cookie(response, session)
    return response


@routes.add("GET", "/v1/me", role=Role.VIEWER, responses={200: CallerView})
async def get_caller(context: Context) -> JSONResponse:
    """Get caller.

    Returns the name, role and brands of the caller; for a browser also the `csrf_token`.
    """
    return JSONResponse(render_caller(context.caller))


@routes.add("POST", "/v1/logout", role=Role.VIEWER, responses={204: None})
async def log_out(context: Context) -> Response:
    """Log out.

    Ends the session of a browser. This does not affect API keys.
    """
    session = context.caller.session
    response = Response(status_code=204)
    if session is not None:
        await context.app.sign_in.logout(session)
        response.delete_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="lax")
    return response


async def end_earlier_session(context: RequestContext) -> None:
    """End the session that this browser had before it signed in again."""
    cookie, sign_in = context.request.cookies.get(COOKIE), context.app.sign_in
    earlier = await sign_in.find_session(cookie, touch=False) if cookie else None
    if earlier is not None:
        await sign_in.logout(earlier)


def render_refusal(refusal: SignInRefused | SignInThrottled) -> JSONResponse:
    if isinstance(refusal, SignInThrottled):
        return problem(429, TOO_MANY.format(seconds=refusal.seconds), None, {"Retry-After": str(refusal.seconds)})
    return problem(401, WRONG_PASSWORD)


def render_caller(caller: Caller) -> CallerView:
    if caller.session is not None:
        return {**render_session(caller.session)}
    return {
        "name": caller.name,
        "role": to_json(caller.role),
        "brands": render_names(caller.brands),
        "job_types": render_names(caller.job_types),
    }


def render_session(session: BrowserSession) -> SessionView:
    user = session.user
    return {
        "name": f"user:{user.name}",
        "role": to_json(user.role),
        "brands": render_names(user.brands),
        "job_types": render_names(from_session(session).job_types),
        "csrf_token": session.csrf_token,
        "expires_at": to_json(session.expires_at),
    }


def set_cookie(response: Response, session: BrowserSession) -> None:
    age = int(SESSION_LIFETIME.total_seconds())
    response.set_cookie(COOKIE, session.cookie, max_age=age, path="/", secure=True, httponly=True, samesite="lax")


def is_secure(request: Request) -> bool:
    """Return whether the connection is encrypted or local. A proxy on this machine may forward plain HTTP."""
    is_forwarded = any(name in request.headers for name in PROXY_HEADERS)
    return request.url.scheme == "https" or (is_loopback(get_address(request)) and not is_forwarded)


def check_secure(request: Request) -> None:
    if not is_secure(request):
        raise HTTPException(403, NOT_SECURE)


def check_origin(request: Request) -> None:
    """Raise 403 if a page of another site sends the form: it could sign the visitor in as somebody else."""
    origin, host = request.headers.get("origin"), request.headers.get("host")
    if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
        raise HTTPException(403, OTHER_SITE)


def get_address(request: Request) -> str:
    """Return the address of the client; behind a trusted proxy, the one that the proxy names."""
    return "" if request.client is None else request.client.host


def is_loopback(address: str) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return (mapped or parsed).is_loopback
