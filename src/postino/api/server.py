"""The API as an application: `make_app(config)` puts it together and starts nothing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from fastapi import Depends, FastAPI

from postino import config as configuration
from postino.api import (
    accounts,
    calendar,
    deeds,
    drafts,
    explaining,
    gates,
    health,
    keys,
    page,
    people,
    posts,
    sessions,
    simulate,
)
from postino.api.access import Access, read_or_create
from postino.api.bodies import Bodies
from postino.api.problems import Safety, answer_with_problems
from postino.config import Config
from postino.errors import StoreUnreachable
from postino.wiring import Postino

KEY_FILE = "api.key"


def make_app(config: Config | None = None) -> FastAPI:
    """Without a config, the one in force."""
    config = config or configuration.load()
    postino = Postino(config)
    check = Access(read_or_create(config.data_dir / KEY_FILE), postino)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        with suppress(StoreUnreachable):  # every request asks again, and is told
            await postino.open()
        yield
        await postino.close()

    async def opened() -> None:
        await postino.open()

    app = FastAPI(
        title="Postino", version="1", lifespan=life, docs_url=None, redoc_url=None, openapi_url="/v1/openapi.json"
    )
    answer_with_problems(app)
    for part in (posts, deeds, drafts, calendar, accounts, explaining, gates, simulate, keys, people, sessions):
        app.include_router(part.routes(postino), dependencies=[Depends(check), Depends(opened)])
    app.include_router(sessions.public_routes(postino), dependencies=[Depends(opened)])
    for part in (health, page):
        app.include_router(part.routes(postino))
    app.add_middleware(Bodies)
    app.add_middleware(Safety)
    return app
