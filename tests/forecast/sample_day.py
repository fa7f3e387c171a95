"""A day with jobs of many kinds in a store with a virtual clock."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from postino.engine.channel_limits import ChannelLimits
from postino.forecast.forecast import make_forecast
from postino.forecast.request import ForecastRequest
from postino.forecast.result import Forecast
from postino.rules.blackout import parse_blackout
from postino.rules.circuit_breaker import BreakerPolicy
from postino.stores.records import AuditContext, NewJob
from postino.stores.store import Store
from postino.values.job import Job, Queue, new_id
from tests.contract.databases import Clock, SqliteDatabase

MORNING = datetime(2026, 11, 16, 8, tzinfo=UTC)
ME = AuditContext("maria", "because")
LIMITS = ChannelLimits(circuits={"bluesky": BreakerPolicy(), "mastodon": BreakerPolicy()})


def at(clock: str) -> datetime:
    """`09:30` or `09:30:05` of that day."""
    hour, minute, second = (*map(int, clock.split(":")), 0)[:3]
    return MORNING.replace(hour=hour, minute=minute, second=second)


@dataclass
class Day:
    store: Store
    clock: Clock
    database: SqliteDatabase

    def another_store(self) -> Store:
        return self.database.store(self.clock)

    async def put(self, channel: str, when: str, account: str | None = None, **fields: Any) -> Job:
        new: dict[str, Any] = {"id": new_id(), "type": "work", "queue": Queue.DEFAULT, "payload": b"{}", **fields}
        job = NewJob(channel=channel, account=account, run_at=at(when), **new)
        return (await self.store.enqueue([job]))[0].job

    async def blackout(self, start: str, end: str, **fields: Any) -> None:
        body = {"scope": "all", "start": start, "end": end, "timezone": "UTC", **fields}
        await self.store.add_blackout(parse_blackout(body, new_id()), ME)

    async def forecast(self, until: str, **fields: Any) -> Forecast:
        body = {"workers": 1, "slots": 20, "seconds_per_job": 10.0, "channel_limits": LIMITS, **fields}
        return await make_forecast(self.store, ForecastRequest(until_at=at(until), **body))


@asynccontextmanager
async def make_day(folder: Path) -> AsyncIterator[Day]:
    clock = Clock(MORNING)
    database = SqliteDatabase(folder / "postino.db")
    store = database.store(clock)
    await store.migrate()
    await store.open()
    yield Day(store, clock, database)
    await store.close()


async def fill_day(day: Day) -> dict[str, Job]:
    """Three accounts of two brands, a cap of one, a blackout, an open circuit, and plain jobs beside them."""
    await day.store.set_cap("mastodon", 1, ME)
    await day.blackout("09:00", "10:00", scope="channel", channel="mastodon")
    await day.store.open_circuit("bluesky", at("09:30"), 1, ME)
    jobs = {
        "before": await day.put("mastodon", "08:30", "m1", brand="acme"),
        "in blackout": await day.put("mastodon", "09:15", "m1", brand="acme"),
        "other brand": await day.put("mastodon", "09:20", "m2", brand="bolt"),
        "again": await day.put("mastodon", "09:40", "m1", brand="acme"),
        "in trouble": await day.put("bluesky", "08:45", "b1", brand="acme"),
        "in trouble, too": await day.put("bluesky", "08:50", "b1", brand="acme"),
        "well again": await day.put("bluesky", "09:45", "b1", brand="acme"),
        "report": await day.put("reports", "09:15"),
        "low": await day.put("reports", "09:15", queue=Queue.LOW),
        "late": await day.put("mastodon", "11:00", "m2", brand="bolt"),
    }
    assert day.clock.now == MORNING
    assert all(job.run_at and job.run_at > MORNING + timedelta(minutes=1) for job in jobs.values())
    return jobs
