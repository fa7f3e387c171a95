"""Local days: from one midnight to the next, whatever the clocks do in between."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.errors import WrongUse
from postino.publishing.calendar import list_dates, parse_day, to_window
from postino.values.time_zones import list_zone_names

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("day", "zone", "hours"),
    [
        ("2026-03-29", "Europe/Rome", 23),
        ("2026-10-25", "Europe/Rome", 25),
        ("2026-06-01", "Europe/Rome", 24),
        ("2026-04-24", "Africa/Cairo", 23),  # its midnight does not exist
        ("2011-12-30", "Pacific/Apia", 0),  # nor does all of this day
    ],
)
def test_day_has_the_hours_of_its_time_zone(day: str, zone: str, hours: int) -> None:
    window = to_window(date.fromisoformat(day), zone)
    assert window.to_at - window.from_at == hours * HOUR


@given(st.dates(date(2025, 1, 1), date(2037, 1, 1)), st.sampled_from(sorted(list_zone_names())))
def test_days_are_contiguous(day: date, zone: str) -> None:
    today, tomorrow = to_window(day, zone), to_window(day + timedelta(days=1), zone)
    assert today.to_at == tomorrow.from_at
    assert today.from_at <= today.to_at


def test_calendar_is_limited_to_a_hundred_days() -> None:
    first = date(2026, 1, 1)
    assert len(list_dates(first, first)) == 1
    assert len(list_dates(first, first + timedelta(days=99))) == 100
    for last in (first + timedelta(days=100), first - timedelta(days=1)):
        with pytest.raises(WrongUse, match="to: ") as refusal:
            list_dates(first, last)
        assert refusal.value.field == "to"


@pytest.mark.parametrize(
    "text", [None, "", "today", "2026-02-30", "20260101", "2026-W01-1", "0001-01-01", "9999-12-31"]
)
def test_invalid_day_names_its_field(text: str | None) -> None:
    with pytest.raises(WrongUse, match="2026-03-29") as refusal:
        parse_day(text, "from")
    assert refusal.value.field == "from"
