"""Blackout windows: when they start, when they end, and which blackouts are refused."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from postino.errors import WrongUse
from postino.rules.blackout import (
    Blackout,
    BlackoutWindow,
    applies_to,
    describe_blackout,
    find_free_time,
    find_window,
    list_windows,
    parse_blackout,
    render_blackout,
)
from postino.values.gate import Scope
from postino.values.time_zones import get_zone
from tests.rules.transitions import Transition, transitions

ID = UUID(int=7)
MINUTE, QUARTER, HOUR, DAY = timedelta(minutes=1), timedelta(minutes=15), timedelta(hours=1), timedelta(days=1)
INSTANT = timedelta(microseconds=1)
FIRST_AT, LAST_AT = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
TRICKY = [
    "Australia/Lord_Howe", "Europe/Dublin", "Africa/Casablanca", "Pacific/Chatham", "America/Santiago",
    "America/Havana", "Europe/Rome",
]  # fmt: skip


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def blackout(hours: str, timezone: str = "Europe/Rome", days: Iterable[int] = ()) -> Blackout:
    start, end = hours.split("-")
    fields = {"scope": "all", "start": start, "end": end, "timezone": timezone, "days": list(days)}
    return parse_blackout(fields, ID)


def window(since: str, until: str) -> BlackoutWindow:
    return BlackoutWindow(at(since), at(until))


@pytest.mark.parametrize(
    ("hours", "days", "instant", "expected"),
    [
        ("12:00-14:00", [], "2026-01-07T11:00", window("2026-01-07T11:00", "2026-01-07T13:00")),
        ("12:00-14:00", [], "2026-01-07T12:59:59.999999", window("2026-01-07T11:00", "2026-01-07T13:00")),
        ("12:00-14:00", [], "2026-01-07T13:00", None),
        ("12:00-14:00", [], "2026-01-07T10:59:59.999999", None),
        ("22:00-07:00", [], "2026-01-07T05:59", window("2026-01-06T21:00", "2026-01-07T06:00")),
        ("22:00-07:00", [], "2026-01-07T21:00", window("2026-01-07T21:00", "2026-01-08T06:00")),
        ("22:00-07:00", [], "2026-01-07T06:00", None),
        # 7 January 2026 is a Wednesday, 3. The window of Tuesday ends on Wednesday, and belongs to Tuesday.
        ("22:00-07:00", [2], "2026-01-07T05:59", window("2026-01-06T21:00", "2026-01-07T06:00")),
        ("22:00-07:00", [3], "2026-01-07T05:59", None),
        ("22:00-07:00", [3], "2026-01-07T22:00", window("2026-01-07T21:00", "2026-01-08T06:00")),
        ("12:00-14:00", [0], "2026-01-04T11:00", window("2026-01-04T11:00", "2026-01-04T13:00")),
        ("12:00-14:00", [6], "2026-01-04T11:00", None),
        ("22:00-00:00", [], "2026-01-07T22:59", window("2026-01-07T21:00", "2026-01-07T23:00")),
        ("00:00-00:00", [3], "2026-01-06T23:00", window("2026-01-06T23:00", "2026-01-07T23:00")),
        ("00:00-00:00", [3], "2026-01-07T23:00", None),
        ("09:00-09:00", [3], "2026-01-08T07:59", window("2026-01-07T08:00", "2026-01-08T08:00")),
        # Adjacent windows are merged: a weekend, six days in a row, and a break that a clock change skips.
        ("00:00-00:00", [6, 0], "2026-01-04T12:00", window("2026-01-02T23:00", "2026-01-04T23:00")),
        ("18:00-18:00", [1, 2, 3, 4, 5, 6], "2026-01-07T12:00", window("2026-01-05T17:00", "2026-01-11T17:00")),
        ("02:30-02:00", [], "2026-03-29T00:30", window("2026-03-28T01:30", "2026-03-30T00:00")),
    ],
)
def test_a_window_includes_its_start_but_not_its_end(
    hours: str, days: list[int], instant: str, expected: BlackoutWindow | None
) -> None:
    assert find_window(blackout(hours, days=days), at(instant)) == expected


@pytest.mark.parametrize(
    ("timezone", "hours", "instant", "expected"),
    [
        # Forward from 02:00 to 03:00 (01:00 UTC).
        ("Europe/Rome", "02:30-05:00", "2026-03-29T01:00", window("2026-03-29T01:00", "2026-03-29T03:00")),
        ("Europe/Rome", "01:00-02:30", "2026-03-29T00:59", window("2026-03-29T00:00", "2026-03-29T01:00")),
        ("Europe/Rome", "02:00-03:00", "2026-03-29T01:00", None),
        ("Europe/Rome", "02:15-02:45", "2026-03-29T01:00", None),
        # Back from 03:00 to 02:00 (01:00 UTC).
        ("Europe/Rome", "02:30-05:00", "2026-10-25T00:30", window("2026-10-25T00:30", "2026-10-25T04:00")),
        ("Europe/Rome", "01:00-02:30", "2026-10-25T01:29", window("2026-10-24T23:00", "2026-10-25T01:30")),
        ("Europe/Rome", "02:10-02:20", "2026-10-25T00:40", window("2026-10-25T00:10", "2026-10-25T01:20")),
        ("Europe/Rome", "02:00-03:00", "2026-10-25T01:59", window("2026-10-25T00:00", "2026-10-25T02:00")),
        ("Europe/Rome", "22:00-02:00", "2026-10-24T23:59", window("2026-10-24T20:00", "2026-10-25T00:00")),
        ("Europe/Rome", "22:00-02:00", "2026-10-25T00:00", None),
        ("Europe/Rome", "03:00-04:00", "2026-10-25T01:59", None),
        # Half an hour back from 02:00 to 01:30.
        ("Australia/Lord_Howe", "01:40-01:50", "2026-04-04T15:00", window("2026-04-04T14:40", "2026-04-04T15:20")),
        # No midnight on that day: forward from 00:00 to 01:00 (04:00 UTC).
        ("America/Santiago", "00:00-06:00", "2026-09-06T04:00", window("2026-09-06T04:00", "2026-09-06T09:00")),
        ("America/Santiago", "22:00-00:30", "2026-09-06T03:59", window("2026-09-06T02:00", "2026-09-06T04:00")),
        ("America/Santiago", "00:00-01:00", "2026-09-06T04:00", None),
        # Two midnights, at 02:30 and 03:30 UTC: back from 00:01 to 23:01 of the day before.
        ("America/St_Johns", "00:00-06:00", "2010-11-07T03:00", window("2010-11-07T02:30", "2010-11-07T09:30")),
        ("America/St_Johns", "20:00-00:00", "2010-11-07T02:30", window("2010-11-06T22:30", "2010-11-07T03:30")),
        ("America/St_Johns", "23:00-23:30", "2010-11-07T02:30:30", window("2010-11-07T01:30", "2010-11-07T03:00")),
        # No 30 December: from 24:00 of the 29th to 00:00 of the 31st (10:00 UTC).
        ("Pacific/Apia", "09:00-17:00", "2011-12-30T10:00", None),
        ("Pacific/Apia", "22:00-07:00", "2011-12-30T10:00", window("2011-12-30T08:00", "2011-12-30T17:00")),
    ],
)
def test_a_window_covers_every_instant_with_a_local_time_in_it(
    timezone: str, hours: str, instant: str, expected: BlackoutWindow | None
) -> None:
    assert find_window(blackout(hours, timezone), at(instant)) == expected


def test_windows_around_a_skipped_day_are_merged() -> None:
    but_fridays = blackout("00:00-00:00", "Pacific/Apia", [0, 1, 2, 3, 4, 6])
    expected = window("2011-12-24T10:00", "2012-01-05T10:00")
    assert (
        find_window(but_fridays, at("2011-12-30T09:59")) == find_window(but_fridays, at("2011-12-30T10:00")) == expected
    )


def test_a_window_from_two_days_ago_covers_a_repeated_hour() -> None:
    friday = blackout("23:45-23:30", "America/St_Johns", [5])
    assert find_window(friday, at("2010-11-07T02:30:30")) == window("2010-11-06T02:15", "2010-11-07T03:00")


@pytest.mark.parametrize("days", [[], range(7)])
@pytest.mark.parametrize("hours", ["00:00-00:00", "02:30-02:30"])
def test_a_blackout_all_day_every_day_never_ends(hours: str, days: Iterable[int]) -> None:
    always = blackout(hours, days=days)
    instant = at("2026-03-29T00:59")
    for hour in range(-24, 24):
        here = find_window(always, instant + hour * HOUR)
        assert here is not None
        assert here.until_at is None
        assert here.since_at <= instant + hour * HOUR < here.since_at + 25 * HOUR
    assert list(list_windows(always, instant, instant + 9 * DAY)) == [find_window(always, instant)]
    assert find_free_time([always], instant) is None
    midnights = {find_window(blackout("00:00-00:00"), at(text)) for text in ("2026-01-06T23:00", "2026-01-07T22:59")}
    assert midnights == {BlackoutWindow(at("2026-01-06T23:00"), None)}


def mark_covered_steps(rule: Blackout, locals_: list[datetime]) -> list[bool]:
    """Return which steps are in a window, from local times alone: from the first to the last step inside it."""
    inside = [False] * len(locals_)
    for number in range(locals_[0].toordinal() - 1, max(locals_).toordinal() + 1):
        day = datetime.fromordinal(number)
        if rule.days and day.isoweekday() % 7 not in rule.days:
            continue
        opens = datetime.combine(day, rule.start)
        closes = datetime.combine(day if rule.start < rule.end else day + DAY, rule.end)
        shown = [place for place, local in enumerate(locals_) if opens <= local < closes]
        if shown:
            inside[shown[0] : shown[-1] + 1] = [True] * (shown[-1] + 1 - shown[0])
    return inside


def list_local_times(since_at: datetime, step: timedelta, count: int, timezone: str) -> list[datetime]:
    place = get_zone(timezone)
    return [(since_at + index * step).astimezone(place).replace(tzinfo=None, fold=0) for index in range(count)]


def check(rule: Blackout, shown_at: datetime, step: timedelta, locals_: list[datetime]) -> None:
    """Compare the windows of a blackout with those computed from local times alone."""
    # Near the ends of the range a repeated hour may lie partly outside it.
    margin = 6 * HOUR // step
    inside = mark_covered_steps(rule, locals_)[margin:-margin]
    since_at = shown_at + margin * step
    until_at = since_at + len(inside) * step
    runs = [list(run) for _, run in itertools.groupby(range(len(inside)), key=inside.__getitem__)]
    expected = [(since_at + run[0] * step, since_at + (run[-1] + 1) * step) for run in runs if inside[run[0]]]
    windows = list(list_windows(rule, since_at, until_at))
    ends = [(max(it.since_at, since_at), min(it.until_at or until_at, until_at)) for it in windows]
    assert ends == expected, rule
    for place, is_inside in enumerate(inside):
        instant = since_at + place * step
        here = find_window(rule, instant)
        assert (here is not None) == is_inside, (rule, instant)
        assert here is None or here.until_at is None or here in windows, (rule, instant)


def list_windows_around(local: datetime) -> list[tuple[time, time]]:
    """Return windows whose boundaries lie before, at, in and after a clock change."""
    near = [(local + minutes * MINUTE).time() for minutes in (-75, -60, -15, 0, 15, 30, 45, 60, 75)]
    far = [time(12), time(0)]
    return [*itertools.combinations([*near, *far], 2), *itertools.combinations(reversed([*near, *far]), 2)][::3]


def check_changes(timezone: str, changes: list[Transition]) -> None:
    for change in changes:
        since_at = change.at - 30 * HOUR
        locals_ = list_local_times(since_at, QUARTER, 4 * 60, timezone)
        for start, end in list_windows_around((change.at + min(change.before, change.after)).replace(tzinfo=None)):
            check(blackout(f"{start:%H:%M}-{end:%H:%M}", timezone), since_at, QUARTER, locals_)


@pytest.mark.parametrize("timezone", TRICKY)
def test_windows_are_correct_around_the_clock_changes_of_one_year(timezone: str) -> None:
    check_changes(timezone, transitions(timezone)[:2])


@pytest.mark.slow
@pytest.mark.parametrize("timezone", TRICKY)
def test_windows_are_correct_around_every_clock_change(timezone: str) -> None:
    assert len(transitions(timezone)) > 4
    check_changes(timezone, transitions(timezone))


def test_windows_are_correct_around_a_skipped_day() -> None:
    check_changes("Pacific/Apia", [Transition(at("2011-12-30T10:00"), -10 * HOUR, 14 * HOUR)])


ZONES = st.sampled_from([*TRICKY, "Asia/Kolkata", "America/New_York", "Antarctica/Troll", "Etc/UTC"])
CLOCKS = st.builds(time, st.integers(0, 23), st.sampled_from([0, 1, 15, 30, 45, 59]))
DAYS = st.frozensets(st.integers(0, 6))
BLACKOUTS = st.builds(
    Blackout, id=st.just(ID), scope=st.just(Scope.ALL), name=st.just(""), start=CLOCKS, end=CLOCKS, timezone=ZONES,
    days=DAYS,
)  # fmt: skip
MINUTES = st.integers(0, 13 * 365 * 24 * 60).map(lambda minute: at("2025-01-01T00:00") + minute * MINUTE)


@settings(max_examples=40, deadline=None)
@given(BLACKOUTS, MINUTES, st.integers(0, 10_000))
def test_every_minute_is_in_a_window_exactly_when_the_local_clock_says_so(
    rule: Blackout, instant: datetime, minutes: int
) -> None:
    changes = transitions(rule.timezone)
    if changes and minutes % 4:
        instant = changes[minutes % len(changes)].at - minutes % (2 * 24 * 60) * MINUTE
    check(rule, instant, MINUTE, list_local_times(instant, MINUTE, 2 * 24 * 60 + 600, rule.timezone))


BREAKFAST = blackout("06:00-07:00", "America/New_York")
NIGHT_AND_DAY = [blackout("22:00-07:00"), blackout("07:00-22:00")]


@settings(max_examples=100, deadline=None)
@given(st.lists(BLACKOUTS, max_size=4), MINUTES)
@example(NIGHT_AND_DAY, at("2026-01-07T12:00"))
def test_the_next_free_time_is_free_and_no_earlier_minute_is(rules: list[Blackout], instant: datetime) -> None:
    free_at = find_free_time(rules, instant)
    if free_at is not None:
        assert free_at >= instant
        assert not any(find_window(rule, free_at) for rule in rules)
    minutes = 7 * 24 * 60 if free_at is None else (free_at - instant) // MINUTE
    for minute in range(0, minutes, 1 if minutes < 24 * 60 else 7):
        assert any(find_window(rule, instant + minute * MINUTE) for rule in rules)
    assert free_at is None or free_at == instant or any(find_window(rule, free_at - INSTANT) for rule in rules)


@pytest.mark.parametrize(
    ("rules", "instant", "free"),
    [
        ([], "2026-01-07T12:00", "2026-01-07T12:00"),
        ([blackout("22:00-07:00")], "2026-01-07T12:00", "2026-01-07T12:00"),
        ([blackout("22:00-07:00")], "2026-01-07T22:00", "2026-01-08T06:00"),
        ([blackout("07:00-09:00"), blackout("22:00-07:00")], "2026-01-07T22:00", "2026-01-08T08:00"),
        ([blackout("22:00-07:00"), blackout("01:00-03:00")], "2026-01-07T22:00", "2026-01-08T06:00"),
        (NIGHT_AND_DAY, "2026-01-07T22:00", None),
        # Noon in Rome is six in New York, except in the weeks in which only one of them has changed its clocks.
        ([blackout("13:00-12:00"), BREAKFAST], "2026-01-07T12:00", "2026-03-08T11:00"),
    ],
)
def test_the_next_free_time_is_outside_all_blackouts(rules: list[Blackout], instant: str, free: str | None) -> None:
    assert find_free_time(rules, at(instant)) == (None if free is None else at(free))


def test_listed_windows_are_complete_and_in_order() -> None:
    night = blackout("22:00-07:00", days=[1, 3])
    monday, wednesday = ("2026-01-05T21:00", "2026-01-06T06:00"), ("2026-01-07T21:00", "2026-01-08T06:00")
    between = [
        ("2026-01-05T23:00", "2026-01-07T21:01", [monday, wednesday]),
        ("2026-01-05T23:00", "2026-01-07T21:00", [monday]),
        ("2026-01-06T06:00", "2026-01-07T22:00", [wednesday]),
        ("2026-01-06T06:00", "2026-01-07T21:00", []),
        ("2026-01-05T23:00", "2026-01-05T23:00", []),
        ("2026-01-09T23:00", "2026-01-05T23:00", []),
    ]
    for since, until, expected in between:
        assert list(list_windows(night, at(since), at(until))) == [window(*it) for it in expected], (since, until)


@pytest.mark.parametrize("timezone", ["Pacific/Kiritimati", "Pacific/Niue", "Etc/UTC"])
@pytest.mark.parametrize("instant", [FIRST_AT, FIRST_AT + DAY, LAST_AT - 2 * DAY, LAST_AT - DAY, LAST_AT])
def test_the_first_and_last_days_of_the_calendar_raise_no_error(instant: datetime, timezone: str) -> None:
    find_window(blackout("22:00-07:00", timezone), instant)
    assert find_free_time([blackout("22:00-07:00", timezone)], instant) is not None
    assert find_window(blackout("00:00-00:00", timezone), instant) is not None


def test_an_instant_may_have_any_zone_but_needs_one() -> None:
    night, instant = blackout("22:00-07:00"), at("2026-01-07T22:00")
    elsewhere = instant.astimezone(get_zone("Asia/Kolkata"))
    assert find_window(night, elsewhere) == find_window(night, instant)
    free_at = find_free_time([], elsewhere)
    assert free_at == instant
    assert free_at.tzinfo is UTC
    for call in (lambda it: find_window(night, it), lambda it: find_free_time([], it)):
        with pytest.raises(ValueError, match="instant has no time zone"):
            call(instant.replace(tzinfo=None))


@pytest.mark.parametrize(
    ("scope", "name", "applies"),
    [
        ("all", "", True), ("channel", "bluesky", True), ("channel", "acme", False), ("brand", "acme", True),
        ("brand", "Acme", False), ("account", "a-1", True), ("account", "bluesky", False),
    ],
)  # fmt: skip
def test_a_blackout_applies_only_to_its_scope(scope: str, name: str, applies: bool) -> None:
    rule = Blackout(id=ID, scope=Scope(scope), name=name, start=time(1), end=time(2), timezone="Etc/UTC")
    assert applies_to(rule, channel="bluesky", brand="acme", account="a-1") == applies
    assert applies_to(rule, channel="other", brand=None, account=None) == (scope == "all")


@pytest.mark.parametrize(("scope", "name"), [(Scope.QUEUE, "default"), (Scope.ALL, "acme"), (Scope.BRAND, "")])
def test_a_blackout_needs_a_valid_scope_and_name(scope: Scope, name: str) -> None:
    with pytest.raises(ValueError, match="covers all, or one named channel"):
        Blackout(id=ID, scope=scope, name=name, start=time(1), end=time(2), timezone="Etc/UTC")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"start": "22:00", "end": "07:00"}, "every day 22:00–07:00 Europe/Rome, for brand acme"),
        ({"days": [0, 1, 2, 3, 4, 5, 6]}, "every day 09:05–17:00 Europe/Rome, for brand acme"),
        ({"days": [5, 1, 2, 3, 4]}, "Monday to Friday 09:05–17:00 Europe/Rome, for brand acme"),
        ({"days": [0, 6]}, "Saturday and Sunday 09:05–17:00 Europe/Rome, for brand acme"),
        ({"days": [0, 2, 4]}, "Tuesday, Thursday and Sunday 09:05–17:00 Europe/Rome, for brand acme"),
        ({"days": [0], "start": "00:00", "end": "00:00"}, "Sunday all day Europe/Rome, for brand acme"),
        ({"days": [0], "end": "09:05"}, "Sunday 09:05–09:05 the next day Europe/Rome, for brand acme"),
        ({"scope": "all", "brand": None}, "every day 09:05–17:00 Europe/Rome, for everything"),
    ],
)
def test_a_blackout_is_described_in_words(fields: dict[str, Any], message: str) -> None:
    assert describe_blackout(parse_blackout(RIGHT | fields, ID)) == message


RIGHT = {"scope": "brand", "brand": "acme", "start": "09:05", "end": "17:00", "timezone": "Europe/Rome"}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"days": [3, 1, 3], "reason": "Nobody reads at noon."},
        {"days": None, "reason": None, "channel": None},
        {"scope": "channel", "brand": None, "channel": "bluesky"},
        {"scope": "account", "brand": None, "account": "a" * 500},
        {"scope": "all", "brand": None, "start": "00:00", "end": "23:59"},
    ],
)
def test_a_rendered_blackout_parses_to_the_same_value(fields: dict[str, Any]) -> None:
    rule = parse_blackout(RIGHT | fields, ID)
    back = json.loads(json.dumps(render_blackout(rule)))
    assert back.pop("id") == str(ID)
    assert parse_blackout(back, ID) == rule
    assert back["days"] == sorted(set(fields.get("days") or []))


LONG = "x" * 501
HOURS = "Write HH:MM from 00:00 to 23:59, like 09:05."
WEEK = "Give a list of numbers from 0 (Sunday) to 6 (Saturday); an empty list means every day."
TEXT = "it must be a text that is not empty."
WRONG_VALUES: list[tuple[str, list[Any], str]] = [
    ("start", ["25:00", "9:5", "9:05", "09:60", "09:05:00", "٠٩:٠٥", "09:05\n", " 09:05", "", "9am", 905, True], HOURS),
    ("end", ["-1:00", 17.5, ["17:00"], {}], HOURS),
    ("end", ["24:00"], "Write midnight as 00:00."),
    ("timezone", ["", 2, True, ["Europe/Rome"]], "Zones have names like Europe/Rome."),
    ("scope", ["queue", "Brand", "", 1, ["all"]], "Use one of: all, channel, brand, account."),
    ("brand", ["", "  ", 5, True, ["acme"]], TEXT),
    ("reason", [1, False, "  ", []], TEXT),
    ("days", ["135", 3, True, {"1": 1}], WEEK),
]
WRONG = [
    *(
        ({field: value}, field, f"{field} is {value!r}{':' if message is TEXT else '.'} {message}")
        for field, values, message in WRONG_VALUES
        for value in values
    ),
    *(({"days": [1, day]}, "days", f"days contains {day!r}. {WEEK}") for day in (7, -1, True, 1.0, "1", None, [1])),
    *(({field: None}, field, f"{field} is missing. ") for field in ("start", "end", "timezone", "scope", "brand")),
    *(({field: LONG}, field, "has 501 characters; the maximum is 500.") for field in ("brand", "reason")),
    ({"brand": "a\0b"}, "brand", "brand 'a\\x00b' contains NUL or an unpaired surrogate"),
    ({"brand": "\ud83d"}, "brand", "brand '\\ud83d' contains NUL or an unpaired surrogate"),
    ({"reason": "\0"}, "reason", "reason '\\x00' contains NUL or an unpaired surrogate"),
    ({"timezone": "Europe/Roma"}, "timezone", "no time zone 'Europe/Roma'. Did you mean Europe/Rome?"),
    ({"timezone": "x" * 1_000_000}, "timezone", "Zones have names like Europe/Rome."),
    ({"channel": "x"}, "channel", "channel 'x' does not apply to `scope` 'brand'. Leave `channel` out"),
    ({"scope": "all"}, "brand", "brand 'acme' does not apply to `scope` 'all'"),
    ({"scope": "account", "brand": None}, "account", "account is missing. It is required with `scope` 'account'."),
    ({"days": [10**5000]}, "days", "days contains an enormous int"),
    ({"time_zone": "Europe/Rome"}, "time_zone", "A blackout has no field 'time_zone'. Did you mean timezone?"),
    ({"qqq": 1}, "qqq", "A blackout has no field 'qqq'. Use one of: scope, channel, brand, account, start"),
    ({"id": str(ID)}, "id", "A blackout has no field 'id'."),
    ({LONG: 1}, None, "A blackout has no field 'xxx"),
    ({"\ud83d": 1}, None, "A blackout has no field '\\ud83d'."),
]


@pytest.mark.parametrize(("fields", "field", "message"), WRONG)
def test_an_invalid_blackout_is_refused_with_field_and_value(
    fields: dict[str, Any], field: str | None, message: str
) -> None:
    with pytest.raises(WrongUse) as error:
        parse_blackout(RIGHT | fields, ID)
    assert message in str(error.value)
    assert error.value.field == field
    assert len(str(error.value)) < 300
    str(error.value).encode()
