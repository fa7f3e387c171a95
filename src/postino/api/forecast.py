"""`/v1/simulate`: what would run when, as things are now. Nothing is queued, and nobody is called."""

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, HTTPException
from fastapi.responses import JSONResponse
from pydantic import Field

from postino.api.caller import Asking
from postino.api.models import Strict
from postino.api.parsing import instant
from postino.errors import WrongUse
from postino.forecast.forecast import make_forecast
from postino.forecast.result import Forecast, render_forecast
from postino.forecast.run import ForecastRequest
from postino.forecast.timeline import render_svg
from postino.values.time_zones import get_zone
from postino.wiring import Postino, load_channel_limits

MOST_JOBS = 5_000
LONGEST_PLAY = 12  # seconds
TOO_LONG = (
    f"until: this takes longer than {LONGEST_PLAY} seconds to play. Choose an earlier time or fewer workers, or run"
    " `postino simulate` where the database is."
)
OTHERS_PLAY = "Others are being told what would run when. Ask again in a moment."
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
        place = get_zone(body.timezone or "UTC")
        asked = asked_by(app, body, notes)
        if caller.hears is None:
            played = await in_time(replace(asked, most=MOST_JOBS))
        else:
            played = await make_forecast(app.store, asked, caller.hears)
        said = render_forecast(played)
        drawn = {"picture": render_svg(played, place)} if body.picture else {}
        return JSONResponse(said | {"notes": [*notes, *said["notes"]], **drawn})

    async def in_time(asked: ForecastRequest) -> Forecast:
        """One after the other, and none for ever: who asks may be gone, and others wait."""
        try:
            async with asyncio.timeout(LONGEST_PLAY):
                await one_at_a_time.acquire()
        except TimeoutError:
            raise HTTPException(503, OTHERS_PLAY, {"Retry-After": str(LONGEST_PLAY)}) from None
        try:
            async with asyncio.timeout(LONGEST_PLAY):
                return await make_forecast(app.store, asked)
        except TimeoutError:
            raise WrongUse(TOO_LONG, "until") from None
        finally:
            one_at_a_time.release()

    return router


def asked_by(app: Postino, body: SimulateBody, notes: list[str]) -> ForecastRequest:
    def at(text: str, field: str) -> datetime:
        found = instant(text, body.timezone, field, notes)
        assert found is not None, "it was said"
        return found

    return ForecastRequest(
        until_at=at(body.until, "until"),
        from_at=None if body.from_ is None else at(body.from_, "from"),
        channel=body.channel,
        brand=body.brand,
        workers=body.workers,
        slots=app.config.worker.concurrency,
        seconds_per_job=body.seconds_per_job,
        give_up_after=app.config.publishing.give_up_after,
        channel_limits=load_channel_limits(app.config),
    )
