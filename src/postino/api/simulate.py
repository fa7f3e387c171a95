"""`/v1/simulate`: what would run when, as things are now. Nothing is queued, and nobody is called."""

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import Field

from postino.api.callers import Asking
from postino.api.models import Strict
from postino.api.wishes import instant
from postino.engine.rehearsing import Asked
from postino.engine.simulated import told
from postino.engine.simulation import simulate
from postino.engine.timeline import picture
from postino.wiring import Postino, rehearsal, terms_of
from postino.zones import zone

MOST_JOBS = 5_000
Name = Annotated[str, Field(max_length=500)]


class SimulateBody(Strict):
    until: str
    from_: str | None = Field(default=None, alias="from")
    timezone: Name | None = None
    channel: Name | None = None
    brand: Name | None = None
    workers: int | None = None
    seconds_per_job: float | None = None
    picture: bool = False


def routes(app: Postino) -> APIRouter:
    router = APIRouter(tags=["simulate"])
    one_at_a_time = asyncio.Lock()

    @router.post("/v1/simulate")
    async def play(body: SimulateBody, caller: Asking) -> JSONResponse:
        """What would run when, until a time; of at most 5,000 jobs. With `picture` also drawn, as SVG."""
        notes: list[str] = []
        place = zone(body.timezone or "UTC")
        asked = asked_by(app, body, notes)
        async with one_at_a_time:
            if caller.hears is None:
                played = await simulate(app.store, rehearsal, replace(asked, most=MOST_JOBS))
            else:
                played = await simulate(app.store, rehearsal, asked, caller.hears)
        said = told(played)
        drawn = {"picture": picture(played, place)} if body.picture else {}
        return JSONResponse(said | {"notes": [*notes, *said["notes"]], **drawn})

    return router


def asked_by(app: Postino, body: SimulateBody, notes: list[str]) -> Asked:
    def at(text: str, field: str) -> datetime:
        found = instant(text, body.timezone, field, notes)
        assert found is not None, "it was said"
        return found

    return Asked(
        until_at=at(body.until, "until"),
        from_at=None if body.from_ is None else at(body.from_, "from"),
        channel=body.channel,
        brand=body.brand,
        workers=body.workers,
        slots=app.config.worker.concurrency,
        seconds_per_job=body.seconds_per_job,
        give_up_after=app.config.publishing.give_up_after,
        terms=terms_of(app.config),
    )
