"""Makes a forecast: checks the request, reads the queue, and runs it ahead on a copy. The store is only read."""

import asyncio
import threading
from dataclasses import replace
from datetime import timedelta

from postino.errors import WrongUse
from postino.forecast.request import ForecastRequest
from postino.forecast.result import Forecast
from postino.forecast.run import ForecastRun, Progress
from postino.rules.local_time import format_time
from postino.stores.records import ForecastInput
from postino.stores.store import Store
from postino.values.networks import PLANNED_NETWORKS
from postino.values.suggestions import suggest_name

MAX_DURATION = timedelta(days=366)
MAX_WORKERS = 1000
MAX_SECONDS_PER_JOB = 86_400.0
NO_WORKER = "No worker is running. The forecast assumes one."


async def make_forecast(
    store: Store, request: ForecastRequest, progress: Progress = lambda done, total: None
) -> Forecast:
    """Return what would run until a time. Raises WrongUse if the request is wrong or too many jobs are due.

    All due jobs take part, because they share slots; the result shows those of the request's channel and brand.
    """
    await check_request(store, request)
    queue = await store.forecast_input(request.until_at, request.max_jobs + 1)
    if len(queue.jobs) > request.max_jobs:
        message = f"until: more than {request.max_jobs:,} jobs are due by then, too many for one forecast."
        raise WrongUse(f"{message} Choose an earlier time.", field="until")
    await check_brand(store, queue, request.brand)
    # The caps of the settings are stored only once a worker has started.
    queue = replace(queue, caps={**request.channel_limits.caps, **queue.caps})
    running_workers = len(await store.workers())
    notes = () if request.workers or running_workers else (NO_WORKER,)
    stop = threading.Event()
    run = ForecastRun(queue, replace(request, workers=request.workers or max(1, running_workers)), progress, stop)
    try:
        # In a thread: hundreds of thousands of statements would block the event loop.
        await asyncio.to_thread(lambda: asyncio.run(run.play()))
    finally:
        stop.set()
    return replace(run.result(), notes=notes).filter(request.channel, request.brand)


async def check_request(store: Store, request: ForecastRequest) -> None:
    _, now = await store.gate_sources()
    if request.until_at <= now:
        raise WrongUse(f"until: {format_time(request.until_at)} is in the past.", "until")
    if request.until_at > now + MAX_DURATION:
        raise WrongUse(f"until: {format_time(request.until_at)} is more than {MAX_DURATION.days} days ahead.", "until")
    if request.from_at is not None and not now <= request.from_at < request.until_at:
        problem = "in the past" if request.from_at < now else "not before `until`"
        raise WrongUse(f"from: {format_time(request.from_at)} is {problem}.", "from")
    if request.workers is not None and not 1 <= request.workers <= MAX_WORKERS:
        raise WrongUse(f"workers: a whole number from 1 to {MAX_WORKERS}, not {request.workers}.", "workers")
    seconds = request.seconds_per_job
    if seconds is not None and not 0 < seconds <= MAX_SECONDS_PER_JOB:
        message = f"seconds_per_job: more than 0 and at most {MAX_SECONDS_PER_JOB:.0f}, not {seconds}."
        raise WrongUse(message, "seconds_per_job")
    if request.channel is not None:
        queued = {depth.channel for depth in await store.queue_depths()}
        check_known("channel", request.channel, {*PLANNED_NETWORKS, *request.channel_limits.circuits, *queued})


async def check_brand(store: Store, queue: ForecastInput, brand: str | None) -> None:
    if brand is not None:
        brands = {*(job.brand for job in queue.jobs), *(account.brand for account in await store.accounts())}
        check_known("brand", brand, {known for known in brands if known is not None})


def check_known(field: str, name: str, known: set[str]) -> None:
    if name not in known:
        hint = suggest_name(name, sorted(known)) if known else "There is none yet."
        raise WrongUse(f"{field}: there is no {field} {name!r:.200}. {hint}", field)
