"""Forecasts compared with a hand-computed day and with what a real worker does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import apsw
import pytest

from postino.api.views.forecasts import render_forecast
from postino.config import Config, WorkerConfig
from postino.engine.channel_limits import ChannelLimits
from postino.engine.handlers import make_handler
from postino.engine.job_spec import JobSpec, make_override
from postino.engine.worker import Worker
from postino.errors import WrongUse
from postino.forecast.result import StartedJob
from postino.forecast.timeline import render_svg
from postino.rules import settlement
from postino.rules.quota import Quota
from postino.rules.retry import RetryPolicy
from postino.stores.records import ClaimRequest, NewJob, SettledJob, WorkerInfo
from postino.values.gate import Scope
from postino.values.job import Job, Queue, State, new_id
from postino.values.outcome import Unknown
from postino.values.post import NewContent, NewPost, NewPosts
from postino.values.provider import Http
from tests.contract.sample_posts import account
from tests.engine.conftest import wait_for
from tests.forecast.sample_day import LIMITS, ME, Day, at, fill_day, make_day


@pytest.fixture
async def day(tmp_path: Path) -> AsyncIterator[Day]:
    async with make_day(tmp_path) as day:
        yield day


def starts(started: tuple[StartedJob, ...], jobs: Mapping[str, Job]) -> dict[str, str]:
    names = {job.id: name for name, job in jobs.items()}
    return {names[it.job_id]: f"{it.started_at:%H:%M:%S}" for it in started}


async def test_forecast_of_a_day_matches_a_hand_computed_one(day: Day) -> None:
    jobs = await fill_day(day)
    forecast = await day.forecast("10:30")
    assert starts(forecast.started_jobs, jobs) == {
        "before": "08:30:00",
        "report": "09:15:00",
        "low": "09:15:00",
        "in trouble": "09:30:00",  # the probe
        "in trouble, too": "09:30:10",
        "well again": "09:45:00",
        "other brand": "10:00:00",  # bolt was not served yet, acme was at 08:30
        "in blackout": "10:00:10",
        "again": "10:00:20",
    }
    assert forecast.unstarted_jobs == ()
    assert all(job.started_at >= job.scheduled_at for job in forecast.started_jobs)


async def test_each_job_lists_what_it_waited_for(day: Day) -> None:
    jobs = await fill_day(day)
    forecast = await day.forecast("10:30")
    waits = {job.job_id: [wait.kind for wait in job.waited_for] for job in forecast.started_jobs}
    assert waits[jobs["before"].id] == []
    assert waits[jobs["in trouble"].id] == ["breaker"]
    assert waits[jobs["in trouble, too"].id] == ["breaker", "turn"]
    assert waits[jobs["other brand"].id] == ["blackout"]
    assert waits[jobs["in blackout"].id] == ["blackout", "turn"]
    [late] = [job for job in forecast.started_jobs if job.job_id == jobs["in blackout"].id]
    assert late.delay == timedelta(minutes=45, seconds=10)
    assert "every day 09:00–10:00 UTC" in late.waited_for[0].sentence
    totals = {it.channel: (it.started, it.unstarted, it.max_delay) for it in forecast.totals()}
    assert totals["mastodon"] == (4, 0, timedelta(minutes=45, seconds=10))


async def test_open_circuit_of_a_server_delays_its_own_accounts_only(day: Day) -> None:
    for name, host in (("m1", "broken.example"), ("m2", "broken.example"), ("m3", "well.example")):
        await day.store.save_account(account(name, base_url=f"https://{host}"))
    jobs = {name: await day.put("mastodon", "08:10", name) for name in ("m1", "m2", "m3")}
    await day.store.open_circuit("mastodon@broken.example", at("09:00"), 1, ME)
    await day.store.open_circuit("mastodon@unused.example", at("10:00"), 1, ME)
    forecast = await day.forecast("10:30")
    starts = {job.job_id: f"{job.started_at:%H:%M:%S}" for job in forecast.started_jobs}
    assert starts[jobs["m3"].id] == "08:10:00"
    assert {starts[jobs["m1"].id], starts[jobs["m2"].id]} == {"09:00:00", "09:00:10"}, "the first is a probe"
    [wait, *_] = [it for job in forecast.started_jobs if job.account == "m1" for it in job.waited_for]
    assert (wait.kind, wait.until_at) == ("breaker", at("09:00"))
    assert [gate.name for gate in forecast.gates] == ["mastodon@broken.example"]
    assert "circuit open" in render_svg(forecast, ZoneInfo("UTC"))


async def test_unstarted_jobs_are_listed_with_their_reason(day: Day) -> None:
    jobs = await fill_day(day)
    person = await day.put("mastodon", "08:01", "m3")
    paused = await day.put("mastodon", "08:40", "m4")
    await day.store.pause(Scope.ACCOUNT, "m4", ME)
    forecast = await day.forecast("09:30", seconds_per_job=7200.0)
    left = {it.job_id: [wait.kind for wait in it.waits_for] for it in forecast.unstarted_jobs}
    assert left[jobs["in blackout"].id] == ["blackout"]
    assert left[jobs["in trouble, too"].id] == ["turn"]
    assert left[paused.id] == ["blackout", "pause"]
    assert person.id not in left
    assert jobs["late"].id not in left  # not due by then


async def test_filter_hides_jobs_that_still_take_slots(day: Day) -> None:
    await fill_day(day)
    shown = await day.forecast("10:30", brand="bolt")
    assert [(job.brand, f"{job.started_at:%H:%M:%S}") for job in shown.started_jobs] == [("bolt", "10:00:00")]
    assert {job.channel for job in (await day.forecast("10:30", channel="reports")).started_jobs} == {"reports"}
    later = await day.forecast("10:30", from_at=at("09:45"))
    assert {job.started_at >= at("09:45") for job in later.started_jobs} == {True}


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"until": "07:59"}, "until"),
        ({"from_at": at("07:59")}, "from"),
        ({"from_at": at("11:30")}, "from"),
        ({"channel": "mastodn"}, "channel"),
        ({"brand": "nobody"}, "brand"),
        ({"workers": 0}, "workers"),
        ({"seconds_per_job": 0.0}, "seconds_per_job"),
        ({"max_jobs": 9}, "until"),
    ],
)
async def test_wrong_request_names_its_field(day: Day, wrong: dict[str, Any], field: str) -> None:
    await fill_day(day)
    with pytest.raises(WrongUse) as refused:
        await day.forecast(**{"until": "11:30", **wrong})
    assert refused.value.field == field


async def test_forecast_does_not_change_the_store(day: Day, tmp_path: Path) -> None:
    await fill_day(day)

    def dump() -> list[str]:
        connection = apsw.Connection(str(tmp_path / "postino.db"))
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        lines = [f"{name}: {row}" for name in names for row in connection.execute(f"SELECT * FROM {name}")]
        connection.close()
        return lines

    before = dump()
    assert any("postino_jobs: " in line for line in before)
    await day.forecast("10:30")
    assert dump() == before


async def test_forecast_does_not_wait_for_writers(day: Day, tmp_path: Path) -> None:
    await fill_day(day)
    writer = apsw.Connection(str(tmp_path / "postino.db"))
    writer.execute("BEGIN IMMEDIATE")
    assert len((await day.forecast("10:30")).started_jobs) == 9
    writer.execute("ROLLBACK")
    writer.close()


async def test_running_job_keeps_its_slot_until_it_ends(day: Day) -> None:
    await day.store.set_cap("mastodon", 1, ME)
    running, waiting = await day.put("mastodon", "08:00", "m1"), await day.put("mastodon", "08:00", "m2")
    await day.store.register_worker(WorkerInfo(id="w", host="here", pid=1))
    poll = await day.store.poll("w")
    [claimed] = await day.store.claim(ClaimRequest(worker="w", token=new_id(), free=5, poll=poll))
    assert claimed.id == running.id
    day.clock.turn(seconds=4)
    forecast = await day.forecast("08:10")
    result = starts(forecast.started_jobs, {"running": running, "waiting": waiting})
    assert result == {"running": "08:00:00", "waiting": "08:00:10"}


async def test_uncertain_jobs_are_looked_up_or_wait_for_a_person(day: Day) -> None:
    await day.store.register_worker(WorkerInfo(id="w", host="here", pid=1))
    first, second = await day.put("mastodon", "08:00", "m1"), await day.put("mastodon", "08:00", "m2")
    poll = await day.store.poll("w")
    claimed = await day.store.claim(ClaimRequest(worker="w", token=new_id(), free=5, poll=poll))
    lookup_at = {first.id: at("08:20"), second.id: None}
    endings = [
        SettledJob(
            job, settlement.settle_job(job, Unknown("no answer", lookup_at[job.id]), RetryPolicy(), day.clock(), 0.0)
        )
        for job in claimed
    ]
    await day.store.settle(endings)
    forecast = await day.forecast("09:00")
    assert starts(forecast.started_jobs, {"looked up": first}) == {"looked up": "08:20:00"}
    assert [(it.job_id, it.waits_for[0].kind) for it in forecast.unstarted_jobs] == [(second.id, "person")]


async def post(day: Day, when: str, account: str, run_until: str | None = None) -> Job:
    job = NewJob(id=new_id(), type="publish", channel="mastodon", queue=Queue.DEFAULT, payload=b"{}", run_at=at(when),
                 account=account)  # fmt: skip
    content = NewContent(id=new_id(), text="{}")
    result = NewPost(
        id=job.id, network="mastodon", account=account, fingerprint=str(job.id),
        publish_until_at=None if run_until is None else at(run_until),
    )  # fmt: skip
    [[made]] = await day.store.create_posts([NewPosts(content=content, posts=[result], jobs=[job])])
    return made.post.job


async def test_post_past_its_deadline_is_not_published(day: Day) -> None:
    await day.blackout("08:30", "10:00")
    missed, kept = await post(day, "08:40", "m1", "09:30"), await post(day, "08:41", "m2", "10:30")
    forecast = await day.forecast("11:00")
    assert starts(forecast.started_jobs, {"kept": kept}) == {"kept": "10:00:00"}
    [left] = forecast.unstarted_jobs
    assert (left.job_id, left.waits_for[0].kind) == (missed.id, "missed")
    assert left.waits_for[0].sentence.startswith("missed:")


async def test_quota_delays_posts_until_there_is_room(day: Day) -> None:
    hourly = Quota(name="posts per hour", most=2, period=timedelta(hours=1), whose=Scope.ACCOUNT, costs={"post": 1})
    jobs = {f"{number}": await post(day, f"08:0{number}", "m1") for number in range(1, 5)}
    forecast = await day.forecast("10:30", channel_limits=ChannelLimits(quotas={"mastodon": [hourly]}))
    assert [*starts(forecast.started_jobs, jobs).values()] == ["08:01:00", "08:02:00", "09:01:00", "09:02:00"]
    assert [{wait.kind for wait in job.waited_for} for job in forecast.started_jobs] == [
        set(),
        set(),
        {"quota"},
        {"quota"},
    ]


async def test_jobs_take_as_long_as_recent_jobs_of_their_channel(day: Day) -> None:
    await day.store.register_worker(WorkerInfo(id="w", host="here", pid=1))
    for seconds in (3, 30, 5):
        await day.put("reports", "08:00")
        poll = await day.store.poll("w")
        [job] = await day.store.claim(ClaimRequest(worker="w", token=new_id(), free=5, poll=poll))
        day.clock.turn(seconds=seconds)
        await day.store.settle([SettledJob(job, settlement.COMPLETED)])
    await day.put("reports", "08:10")
    await day.put("unheard-of", "08:10")
    forecast = await day.forecast("08:30", seconds_per_job=None)
    assert {job.channel: (job.ended_at - job.started_at).total_seconds() for job in forecast.started_jobs} == {
        "reports": 5.0,
        "unheard-of": 2.0,
    }


async def test_without_workers_the_forecast_assumes_one(day: Day) -> None:
    await fill_day(day)
    forecast = await day.forecast("10:30", workers=None)
    assert (forecast.workers, *forecast.notes) == (1, "No worker is running. The forecast assumes one.")
    for name in "ab":
        await day.store.register_worker(WorkerInfo(id=name, host="here", pid=1))
    forecast = await day.forecast("10:30", workers=None)
    assert (forecast.workers, forecast.notes) == (2, ())


async def test_forecast_fills_exactly_the_slots_of_all_workers(day: Day) -> None:
    for _ in range(10):
        await day.put("reports", "08:10")
    forecast = await day.forecast("08:30", workers=2, slots=2)
    begun = sorted(f"{job.started_at:%H:%M:%S}" for job in forecast.started_jobs)
    assert begun == ["08:10:00"] * 4 + ["08:10:10"] * 4 + ["08:10:20"] * 2


# --- The same day, lived


class FakeWakeup:
    """A wake-up that advances the virtual clock when the worker is idle."""

    def __init__(self) -> None:
        self.idle = asyncio.Event()
        self.woken = asyncio.Event()

    def notify_local(self) -> None:
        self.woken.set()

    notify = notify_local

    async def listen(self) -> None: ...

    async def wait(self, seconds: float) -> bool:
        if not self.woken.is_set():
            self.idle.set()
        await self.woken.wait()
        self.idle.clear()
        self.woken.clear()
        return True

    async def close(self) -> None: ...


class NoHttp:
    """Fails on any use: nothing must be sent."""

    def open(self, **_: Any) -> Http:
        raise AssertionError


class LiveWorker:
    """Run a real worker on a real store; each job takes ten seconds of the virtual clock."""

    def __init__(self, day: Day, folder: Path) -> None:
        self.day = day
        self.wakeup = FakeWakeup()
        self.started: dict[UUID, datetime] = {}
        self.ended: set[UUID] = set()
        self.ticked = asyncio.Condition()
        config = Config(data_dir=folder, worker=WorkerConfig(concurrency=20))
        handler = make_handler("work", self.work, Queue.DEFAULT, make_override(None, None, None))
        self.worker = Worker(
            day.store, self.wakeup, {"work": handler}, config, self.never, day.another_store, NoHttp(), LIMITS
        )

    async def never(self, _: JobSpec) -> Job:
        raise AssertionError

    async def work(self, job: Job) -> None:
        self.started[job.id] = started = self.day.clock.now
        async with self.ticked:
            await self.ticked.wait_for(lambda: self.day.clock.now >= started + timedelta(seconds=10))
        await self.day.store.record_response(job.channel, True, LIMITS.circuits["mastodon"], None)

    async def run_until(self, end: datetime) -> None:
        """Move the clock in steps of ten seconds, each after all work of the last is done."""
        running = asyncio.create_task(self.worker.run())
        try:
            while self.day.clock.now <= end:
                await self.wait_until_idle()
                self.day.clock.turn(seconds=10)
                async with self.ticked:
                    self.ticked.notify_all()
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    async def has_ended(self, job_id: UUID) -> bool:
        return (await self.day.store.job(job_id)).state is State.COMPLETED

    async def wait_until_idle(self) -> None:
        """Wait until everything that can happen at this time has happened."""
        ending = {job_id for job_id, at_ in self.started.items() if at_ + timedelta(seconds=10) <= self.day.clock.now}
        for job_id in ending - self.ended:
            await wait_for(partial(self.has_ended, job_id))
        self.ended |= ending
        for _ in range(2):  # one to apply lane hints, one to claim from the lanes
            self.wakeup.idle.clear()
            self.wakeup.notify_local()
            await asyncio.wait_for(self.wakeup.idle.wait(), 20)


async def test_real_worker_does_what_the_forecast_says(day: Day, tmp_path: Path) -> None:
    jobs = await fill_day(day)
    predicted = {job.job_id: job.started_at for job in (await day.forecast("10:05")).started_jobs}
    assert len(predicted) == len(jobs) - 1
    live = LiveWorker(day, tmp_path)
    await live.run_until(at("10:05"))
    assert live.started == predicted


async def test_forecast_renders_as_json(day: Day) -> None:
    jobs = await fill_day(day)
    result = render_forecast(await day.forecast("10:30"))
    assert {one["id"] for one in result["started_jobs"]} == {
        str(job.id) for name, job in jobs.items() if name != "late"
    }
    assert result["totals"][0] == {"channel": "bluesky", "started": 3, "unstarted": 0, "max_delay_seconds": 2700.0}
    assert {gate["kind"] for gate in result["gates"]} == {"breaker", "blackout"}
