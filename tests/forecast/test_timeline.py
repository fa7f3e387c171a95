"""The SVG of a forecast: well-formed, complete, and true to its times."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest

from postino.forecast.result import Forecast, StartedJob, UnstartedJob, WaitReason
from postino.forecast.timeline import GUTTER, MARGIN, WIDTH, Timeline, format_duration, render_svg
from postino.values.gate import Gate, GateKind, Scope
from postino.values.job import Queue, new_id
from postino.values.time_zones import get_zone
from tests.forecast.sample_day import ME, MORNING, Day, at, fill_day, make_day

ROME, UTC = get_zone("Europe/Rome"), get_zone("UTC")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
async def day(tmp_path: Path) -> AsyncIterator[Day]:
    async with make_day(tmp_path) as day:
        yield day


def make_job(account: str | None = "a1", start: str = "09:00", **fields: object) -> StartedJob:
    whole = {
        "job_id": new_id(), "type": "post", "channel": "mastodon", "account": account, "brand": None,
        "queue": Queue.DEFAULT, "scheduled_at": at(start), "started_at": at(start),
        "ended_at": at(start) + timedelta(seconds=10), **fields,
    }  # fmt: skip
    return StartedJob(**whole)  # type: ignore[arg-type]


def make_forecast(
    *jobs: StartedJob, unstarted: tuple[UnstartedJob, ...] = (), gates: tuple[Gate, ...] = ()
) -> Forecast:
    return Forecast(from_at=MORNING, until_at=at("12:00"), started_jobs=jobs, unstarted_jobs=unstarted, gates=gates)


def titles(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}title")]


async def test_svg_is_well_formed_and_shows_every_job(day: Day) -> None:
    jobs = await fill_day(day)
    await day.store.pause(Scope.ACCOUNT, "m9", ME)
    stuck = await day.put("mastodon", "09:00", "m9")
    forecast = await day.forecast("11:30")
    result = titles(render_svg(forecast, ROME))
    for job in (*jobs.values(), stuck):
        assert len([title for title in result if str(job.id) in title]) == 1
    [held] = [title for title in result if str(stuck.id) in title]
    assert "would not have run: Account m9 is paused: because" in held
    [late] = [title for title in result if str(jobs["in blackout"].id) in title]
    assert "11:00:10 – 11:00:20, 45 min late. A blackout covers channel mastodon" in late  # as Rome shows it


def test_bars_are_placed_by_their_times() -> None:
    timeline = Timeline(make_forecast(make_job()), UTC)
    assert timeline.locate(MORNING) == GUTTER
    assert timeline.locate(at("12:00")) == WIDTH - MARGIN
    assert timeline.locate(at("10:00")) == (GUTTER + WIDTH - MARGIN) / 2
    assert timeline.locate(at("07:00")) == GUTTER


def test_closed_gate_is_a_band_over_the_rows_it_blocks() -> None:
    closed = Gate(scope=Scope.ACCOUNT, name="a1", kind=GateKind.BLACKOUT, since_at=at("09:00"), until_at=at("10:00"))
    broken = Gate(scope=Scope.CHANNEL, name="mastodon", kind=GateKind.BREAKER, since_at=None, until_at=None)
    svg = render_svg(make_forecast(make_job("a1"), make_job("a2"), gates=(closed, broken)), UTC)
    result = titles(svg)
    assert result.count("A blackout covers account a1.") == 1
    assert result.count("The circuit of mastodon is open.") == 2
    assert "url(#hatched)" in svg


def test_axis_shows_whole_hours_across_a_clock_change() -> None:
    days = [MORNING.replace(month=10, day=day) for day in (24, 26)]
    change = replace(make_forecast(make_job()), from_at=days[0], until_at=days[1])
    hours = [tick.astimezone(ROME) for tick in Timeline(change, ROME).list_ticks()]
    assert hours
    assert all((hour.hour % 6, hour.minute, hour.second) == (0, 0, 0) for hour in hours)
    assert [hour.utcoffset() for hour in hours[:1] + hours[-1:]] == [timedelta(hours=2), timedelta(hours=1)]


def test_concurrent_jobs_are_drawn_below_each_other() -> None:
    timeline = Timeline(make_forecast(*(make_job(None) for _ in range(6))), UTC)
    assert sorted(set(timeline.assign_tracks(timeline.forecast.started_jobs))) == [0, 1, 2, 3]


def test_many_accounts_are_grouped_by_channel() -> None:
    jobs = [make_job(f"a{number}", channel=f"channel {number % 25}") for number in range(300)]
    timeline = Timeline(make_forecast(*jobs), UTC)
    assert len(timeline.rows) == 25
    text = titles("\n".join(timeline.render()))
    assert all(any(str(job.job_id) in title for title in text) for job in jobs)


def test_empty_forecast_is_drawn_too() -> None:
    assert "Nothing is due in this time." in render_svg(make_forecast(), UTC)
    ElementTree.fromstring(render_svg(make_forecast(), UTC))


@pytest.mark.parametrize("name", ["<b>&\"'", "a\x00b\x1f", "half \ud83d", "ж" * 300])
def test_names_are_escaped(name: str) -> None:
    unstarted = UnstartedJob(
        job_id=new_id(), type=name, channel=name, account=name, brand=name, queue=Queue.LOW, scheduled_at=at("09:00"),
        waits_for=(WaitReason("pause", name),),
    )  # fmt: skip
    gate = Gate(scope=Scope.CHANNEL, name=name, kind=GateKind.PAUSE, since_at=MORNING, reason=name)
    svg = render_svg(
        make_forecast(make_job(name, channel=name, type=name), unstarted=(unstarted,), gates=(gate,)), ROME
    )
    ElementTree.fromstring(svg.encode())


@pytest.mark.parametrize(
    ("lasts", "message"), [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (200_000, "2 d")]
)
def test_durations_are_formatted_in_one_unit(lasts: float, message: str) -> None:
    assert format_duration(timedelta(seconds=lasts)) == message
