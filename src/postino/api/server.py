"""The API as an application: `make_app(config)` puts it together and starts nothing."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from types import ModuleType

from fastapi import Depends, FastAPI, Request
from fastapi.middleware.gzip import GZipMiddleware

from postino import config as configuration
from postino.api import (
    accounts,
    api_keys,
    brands,
    calendar,
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
from postino.api.authentication import Access, Door, read_or_create
from postino.api.body_limits import Bodies
from postino.api.header_checks import Heads
from postino.api.openapi import Announced
from postino.api.path_encoding import Addresses, name_whole
from postino.api.problems import Safety, answer_with_problems
from postino.api.queries import check_query
from postino.api.rate_limits import RateLimits, RequestIds
from postino.api.status_page import page
from postino.api.telling import RESPONSES
from postino.config import Config
from postino.errors import StoreUnreachable
from postino.wiring import Postino

KEY_FILE = "api.key"
LARGE = 2000  # bytes: smaller answers are not worth the packing
PACKED = 4  # of 9: nearly as small, in a third of the time
PARTS = (
    posts, post_actions, drafts, calendar, imports, accounts, jobs, job_actions, dead_letters, uncertain, brands,
    workers, quotas, stats, events, sandbox, explain, gates, queues, forecast, api_keys, users, sign_in_links,
    sessions,
)  # fmt: skip


def make_app(config: Config | None = None) -> FastAPI:
    """Without a config, the one in force."""
    config = config or configuration.load_config()
    postino = Postino(config)
    check = Access(read_or_create(config.data_dir / KEY_FILE), postino)
    app = app_for(postino, check)
    app.add_middleware(Door, access=check)
    app.add_middleware(GZipMiddleware, minimum_size=LARGE, compresslevel=PACKED)
    app.add_middleware(RateLimits, rate=config.api.rate, burst=config.api.burst)
    app.add_middleware(Safety)
    app.add_middleware(Heads)
    app.add_middleware(RequestIds)
    return app


def app_for(
    postino: Postino, check: Callable[[Request], Awaitable[None]], parts: Sequence[ModuleType] = PARTS
) -> FastAPI:
    """Every route, or those of some parts, for whomever `check` lets in: also for who asks in this very process."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        with suppress(StoreUnreachable):  # every request asks again, and is told
            await postino.open()
        yield
        await postino.close()

    async def opened() -> None:
        await postino.open()

    app = Announced(
        title="Postino",
        version="1",
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        redirect_slashes=False,
        responses=RESPONSES,
    )
    answer_with_problems(app)
    for part in parts:
        every = [Depends(check), Depends(name_whole), Depends(opened), Depends(check_query)]
        app.include_router(part.routes(postino), dependencies=every)
    app.include_router(sessions.public_routes(postino), dependencies=[Depends(opened)])
    for part in (health, page):
        app.include_router(part.routes(postino))
    app.add_middleware(Bodies, patience=postino.config.api.read_timeout)
    app.add_middleware(Addresses)
    return app
