"""What would run when, by the real rules on a clock of its own: the store is only read, and nobody is called."""

import asyncio
import threading
from dataclasses import replace
from datetime import timedelta

from postino.engine.checks import suggest
from postino.errors import WrongUse
from postino.forecast.result import Forecast
from postino.forecast.run import ForecastRequest, ForecastRun, Progress
from postino.rules.local_time import format_time
from postino.stores.records import ForecastInput
from postino.stores.store import Store
from postino.values.networks import PLANNED_NETWORKS

LONGEST = timedelta(days=366)
MOST_WORKERS = 1000
MOST_SECONDS = 86_400.0


async def make_forecast(store: Store, asked: ForecastRequest, progress: Progress = lambda done, all_: None) -> Forecast:
    """All that is due is played, whatever was asked for: others take slots, too. Shown is what was asked for."""
    await check(store, asked)
    outlook = await store.forecast_input(asked.until_at, asked.most + 1)
    if len(outlook.jobs) > asked.most:
        render_forecast = f"until: more than {asked.most:,} jobs are due by then, too many for one simulation."
        raise WrongUse(f"{render_forecast} Choose an earlier time.", field="until")
    await check_brand(store, outlook, asked.brand)
    outlook = replace(
        outlook, caps={**asked.channel_limits.caps, **outlook.caps}
    )  # those of the settings come with a worker
    there = len(await store.workers())
    notes = () if asked.workers or there else ("No worker is running: this is how it would be with one.",)
    assumed = replace(asked, workers=asked.workers or max(1, there))
    stop = threading.Event()
    rehearsing = ForecastRun(outlook, assumed, progress, stop)
    try:
        # A thread of its own: hundreds of thousands of statements would hold up everybody else's.
        await asyncio.to_thread(lambda: asyncio.run(rehearsing.play()))
    finally:
        stop.set()
    return replace(rehearsing.result(), notes=notes).only(asked.channel, asked.brand)


async def check(store: Store, asked: ForecastRequest) -> None:
    _, now = await store.known_gates()
    if asked.until_at <= now:
        raise WrongUse(f"until: {format_time(asked.until_at)} is in the past.", "until")
    if asked.until_at > now + LONGEST:
        raise WrongUse(f"until: {format_time(asked.until_at)} is more than {LONGEST.days} days ahead.", "until")
    if asked.from_at is not None and not now <= asked.from_at < asked.until_at:
        when = "in the past" if asked.from_at < now else "not before `until`"
        raise WrongUse(f"from: {format_time(asked.from_at)} is {when}.", "from")
    if asked.workers is not None and not 1 <= asked.workers <= MOST_WORKERS:
        raise WrongUse(f"workers: a whole number from 1 to {MOST_WORKERS}, not {asked.workers}.", "workers")
    if asked.seconds_per_job is not None and not 0 < asked.seconds_per_job <= MOST_SECONDS:
        render_forecast = f"seconds_per_job: more than 0 and at most {MOST_SECONDS:.0f}, not {asked.seconds_per_job}."
        raise WrongUse(render_forecast, "seconds_per_job")
    if asked.channel is not None:
        queued = {depth.channel for depth in await store.queue_depths()}
        known = {*PLANNED_NETWORKS, *asked.channel_limits.circuits, *queued}
        refuse_unknown("channel", asked.channel, known)


async def check_brand(store: Store, outlook: ForecastInput, brand: str | None) -> None:
    if brand is not None:
        named = {*(job.brand for job in outlook.jobs), *(account.brand for account in await store.accounts())}
        refuse_unknown("brand", brand, {known for known in named if known is not None})


def refuse_unknown(field: str, name: str, known: set[str]) -> None:
    if name not in known:
        hint = suggest(name, sorted(known)) if known else " There is none yet."
        raise WrongUse(f"{field}: there is no {field} {name!r:.200}.{hint}", field)
