"""`/v1/forecast`: which jobs would run when. Nothing is queued, and no network is called."""

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import HTTPException
from fastapi.responses import JSONResponse
from pydantic import Field

from postino.api.context import Context, RequestContext
from postino.api.models import Name, Strict
from postino.api.parsing import parse_time
from postino.api.routes import Routes
from postino.api.views.forecasts import render_forecast
from postino.client.types.forecast import ForecastView
from postino.client.types.schema import Doc
from postino.errors import WrongUse
from postino.forecast.forecast import make_forecast
from postino.forecast.request import ForecastRequest
from postino.forecast.result import Forecast
from postino.forecast.timeline import render_svg
from postino.values.auth import Role
from postino.values.time_zones import get_zone
from postino.wiring import Postino, load_channel_limits

routes = Routes("forecast")
MAX_JOBS = 5_000
MAX_SECONDS = 12
TOO_LONG = (
    f"until: this forecast takes longer than {MAX_SECONDS} seconds. Choose an earlier time or fewer workers, or run"
    " `postino forecast` on the machine of the database."
)
BUSY = "Another forecast is running. Try again in a moment."


class ForecastBody(Strict):
    """The end of the forecast, filters and assumptions."""

    until: Annotated[str, Doc("End of the forecast: ISO 8601 with an offset, or local to `timezone`.")]
    from_: Annotated[str | None, Doc("Start of the forecast. Left out: now.")] = Field(default=None, alias="from")
    timezone: Annotated[Name | None, Doc("IANA time zone of times without an offset, such as `Europe/Rome`.")] = None
    channel: Annotated[Name | None, Doc("Return only jobs of this channel.")] = None
    brand: Annotated[Name | None, Doc("Return only jobs of this brand.")] = None
    workers: Annotated[int | None, Doc("Number of workers. Left out: the number of registered workers.")] = None
    seconds_per_job: Annotated[float | None, Doc("Duration of each job. Left out: the median of recent jobs.")] = None
    picture: Annotated[bool, Doc("Add a timeline as SVG.")] = False


@routes.add("POST", "/v1/forecast", role=Role.VIEWER, all_brands=True, responses={200: ForecastView})
async def create_forecast(body: ForecastBody, context: Context) -> JSONResponse:
    """Create forecast.

    Returns the jobs that would start up to a given time, with their start, and what the other due jobs would wait
    for. A forecast covers at most 5,000 jobs. The server computes one forecast at a time.
    """
    notes: list[str] = []
    timezone = get_zone(body.timezone or "UTC")
    request = parse_request(context.app, body, notes)
    if context.caller.progress is None:
        forecast = await run_in_turn(context, replace(request, max_jobs=MAX_JOBS))
    else:
        forecast = await make_forecast(context.app.store, request, context.caller.progress)
    view = render_forecast(forecast)
    picture = {"picture": render_svg(forecast, timezone)} if body.picture else {}
    return JSONResponse(view | {"notes": [*notes, *view["notes"]], **picture})


async def run_in_turn(context: RequestContext, request: ForecastRequest) -> Forecast:
    """Run one forecast at a time, each within a time limit."""
    lock = context.services.forecast_lock
    try:
        async with asyncio.timeout(MAX_SECONDS):
            await lock.acquire()
    except TimeoutError:
        raise HTTPException(503, BUSY, {"Retry-After": str(MAX_SECONDS)}) from None
    try:
        async with asyncio.timeout(MAX_SECONDS):
            return await make_forecast(context.app.store, request)
    except TimeoutError:
        raise WrongUse(TOO_LONG, "until") from None
    finally:
        lock.release()


def parse_request(app: Postino, body: ForecastBody, notes: list[str]) -> ForecastRequest:
    def parse(text: str, field: str) -> datetime:
        at = parse_time(text, body.timezone, field, notes)
        assert at is not None, "a text is given"
        return at

    return ForecastRequest(
        until_at=parse(body.until, "until"),
        from_at=None if body.from_ is None else parse(body.from_, "from"),
        channel=body.channel,
        brand=body.brand,
        workers=body.workers,
        slots=app.config.worker.concurrency,
        seconds_per_job=body.seconds_per_job,
        give_up_after=app.config.publishing.give_up_after,
        channel_limits=load_channel_limits(app.config),
    )
