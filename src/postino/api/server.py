"""The API as an ASGI application: `make_app(config)` assembles it and starts nothing."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial

from fastapi import Depends, FastAPI, Request
from fastapi.middleware.gzip import GZipMiddleware

from postino import config as configuration
from postino.api import (
    accounts,
    api_keys,
    audit,
    blackouts,
    brands,
    calendar,
    circuits,
    database,
    dead_letters,
    drafts,
    events,
    explain,
    forecast,
    gates,
    health,
    imports,
    job_actions,
    jobs,
    post_actions,
    posts,
    queues,
    quotas,
    sandbox,
    sessions,
    sign_in_links,
    stats,
    uncertain,
    users,
    workers,
)
from postino.api.api_key_file import read_or_create_key
from postino.api.authentication import Authenticator, EarlyAuthentication, KeyAuthenticator
from postino.api.authorization import authorize
from postino.api.body_limits import BodyLimits, ParsedBodyRoute
from postino.api.caller import ANONYMOUS, CALLER
from postino.api.context import RequestContext, Services
from postino.api.header_checks import HeaderChecks
from postino.api.openapi import DocumentedApi
from postino.api.openapi import routes as openapi_routes
from postino.api.path_encoding import PathEncoding, decode_names
from postino.api.problems import InternalErrors, add_error_handlers
from postino.api.query import parse_query
from postino.api.rate_limits import RateLimits, RequestIds
from postino.api.request_slots import RequestSlots
from postino.api.routes import Route
from postino.api.security_headers import SecurityHeaders
from postino.api.status_page import page
from postino.config import Config
from postino.errors import StoreUnreachable
from postino.wiring import Postino

KEY_FILE = "api.key"
GZIP_MIN_BYTES = 2000
GZIP_LEVEL = 4  # nearly as small as 9, in a third of the time
MODULES = (
    posts, post_actions, drafts, calendar, imports, accounts, jobs, job_actions, dead_letters, uncertain, brands,
    workers, quotas, stats, events, sandbox, explain, blackouts, circuits, gates, database, queues, forecast, api_keys,
    users, audit, sign_in_links, sessions, health, page,
)  # fmt: skip
ROUTES: tuple[Route, ...] = (*(route for module in MODULES for route in module.routes), *openapi_routes)
PUBLIC_PATHS = frozenset(route.path for route in ROUTES if route.role is None)


def make_app(config: Config | None = None) -> FastAPI:
    """Return the API with all middleware; without a config, with the current settings."""
    config = config or configuration.load_config()
    postino = Postino(config)
    authenticator = KeyAuthenticator(read_or_create_key(config.data_dir / KEY_FILE), postino)
    app = build_app(postino, authenticator)
    app.add_middleware(EarlyAuthentication, authenticator=authenticator, public=PUBLIC_PATHS)
    app.add_middleware(RequestSlots, authenticator=authenticator)
    app.add_middleware(GZipMiddleware, minimum_size=GZIP_MIN_BYTES, compresslevel=GZIP_LEVEL)
    app.add_middleware(RateLimits, rate=config.api.rate, burst=config.api.burst)
    app.add_middleware(InternalErrors)
    app.add_middleware(HeaderChecks)
    app.add_middleware(RequestIds)
    app.add_middleware(SecurityHeaders)
    return app


def build_app(postino: Postino, authenticator: Authenticator, routes: Sequence[Route] = ROUTES) -> FastAPI:
    """Return the API, or some of its routes, without the middleware that only a network server needs."""

    @asynccontextmanager
    async def run(_: FastAPI) -> AsyncIterator[None]:
        with suppress(StoreUnreachable):  # every request tries again, and reports it
            await postino.open()
        yield
        await postino.close()

    app = DocumentedApi(routes, lifespan=run)
    app.router.route_class = ParsedBodyRoute
    add_error_handlers(app)
    app.state.refusals = postino.refusals
    services = Services(postino)
    for route in routes:
        add_route(app, route, make_preparation(route, postino, services, authenticator))
    app.add_middleware(
        BodyLimits, read_timeout=postino.config.api.read_timeout, routes=routes, beside=services.beside_loop
    )
    app.add_middleware(PathEncoding)
    return app


def add_route(app: FastAPI, route: Route, prepare: Callable[[Request], Awaitable[None]]) -> None:
    app.add_api_route(
        route.path,
        route.endpoint,
        methods=[route.method],
        status_code=min(route.responses, default=200),
        name=route.name,
        operation_id=route.name,
        summary=route.summary,
        description=route.description,
        tags=[route.tag],
        include_in_schema=route.in_schema,
        openapi_extra={**route.extra},
        dependencies=[Depends(prepare)],
    )


def make_preparation(
    route: Route, postino: Postino, services: Services, authenticator: Authenticator
) -> Callable[[Request], Awaitable[None]]:
    """Return what happens before a route's endpoint: authenticate, authorize, parse path and query."""

    async def prepare(request: Request) -> None:
        caller = ANONYMOUS
        if route.role is not None:
            caller = request.scope[CALLER] = await authenticator.authenticate(request)
            authorize(caller, route)
        decode_names(request)
        if route.needs_store:
            await postino.open()
        checks_query = route.role is not None or route.query
        query = parse_query(request.scope["query_string"] if checks_query else b"", route.query)
        still_valid = partial(authenticator.is_still_valid, caller, request)
        request.state.context = RequestContext(request, postino, services, caller, query, still_valid)

    return prepare
