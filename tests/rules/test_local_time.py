"""How a local time becomes an instant, around every clock change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postino.errors import WrongUse
from postino.rules.local_time import Gap, Overlap, ResolvedTime, parse_time, resolve_local_time, to_local_time
from postino.values.time_zones import list_zone_names
from tests.rules.transitions import Transition, transitions

# Half-hour changes, negative winter time, changes around Ramadan, both hemispheres, no changes at all.
TRICKY = [
    "Europe/Rome", "Europe/Dublin", "America/New_York", "America/St_Johns", "Australia/Lord_Howe", "Africa/Casablanca",
    "Africa/El_Aaiun", "Pacific/Chatham", "Asia/Gaza", "America/Nuuk", "America/Havana", "America/Santiago",
    "Antarctica/Troll", "Asia/Beirut", "Asia/Kolkata", "Etc/UTC",
]  # fmt: skip
MINUTE = timedelta(minutes=1)
INSTANT = timedelta(microseconds=1)


def local_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "local", "instant"),
    [
        ("Europe/Rome", "2026-07-01T12:00", "2026-07-01T10:00"),
        ("Europe/Rome", "2026-01-01T12:00", "2026-01-01T11:00"),
        ("Asia/Kolkata", "2026-01-01T00:00", "2025-12-31T18:30"),
        ("Etc/UTC", "2026-01-01T00:00", "2026-01-01T00:00"),
        ("Europe/Dublin", "2026-01-01T12:00", "2026-01-01T12:00"),
        ("Europe/Dublin", "2026-07-01T12:00", "2026-07-01T11:00"),
    ],
)
def test_a_local_time_that_occurs_once_is_that_instant(zone: str, local: str, instant: str) -> None:
    assert resolve_local_time(local_time(local), zone) == ResolvedTime(at(instant))


@pytest.mark.parametrize(
    ("zone", "local", "instant", "sentence"),
    [
        (
            "Europe/Rome", "2026-03-29T02:30", "2026-03-29T01:00",
            (
                "02:30 does not exist in Europe/Rome on 29 March 2026: the clocks go forward from 02:00 to 03:00."
                " The post goes out at 03:00 (01:00 UTC)."
            ),
        ),
        (
            "Australia/Lord_Howe", "2026-10-04T02:15:05", "2026-10-03T15:30",
            (
                "02:15:05 does not exist in Australia/Lord_Howe on 4 October 2026: the clocks go forward from 02:00 to"
                " 02:30. The post goes out at 02:30 (15:30 UTC on 3 October 2026)."
            ),
        ),
        (
            "Europe/Dublin", "2026-03-29T01:59:59.999999", "2026-03-29T01:00",
            (
                "01:59:59 does not exist in Europe/Dublin on 29 March 2026: the clocks go forward from 01:00 to 02:00."
                " The post goes out at 02:00 (01:00 UTC)."
            ),
        ),
        (
            "Pacific/Apia", "2011-12-30T12:00", "2011-12-30T10:00",
            (
                "12:00 does not exist in Pacific/Apia on 30 December 2011: the clocks go forward from 00:00 to 00:00 on"
                " 31 December 2011. The post goes out at 00:00 on 31 December 2011 (10:00 UTC)."
            ),
        ),
    ],
)  # fmt: skip
def test_a_time_in_a_gap_becomes_the_end_of_the_gap_with_a_note(
    zone: str, local: str, instant: str, sentence: str
) -> None:
    resolved = resolve_local_time(local_time(local), zone)
    assert resolved.at == at(instant)
    assert isinstance(resolved.note, Gap)
    assert resolved.note.message == sentence


@pytest.mark.parametrize(
    ("zone", "local", "instant", "sentence"),
    [
        (
            "Europe/Rome", "2026-10-25T02:30", "2026-10-25T00:30",
            (
                "02:30 comes twice in Europe/Rome on 25 October 2026: the clocks go back."
                " The post goes out the first time (00:30 UTC), not the second (01:30 UTC)."
            ),
        ),
        (
            "Australia/Lord_Howe", "2026-04-05T01:45", "2026-04-04T14:45",
            (
                "01:45 comes twice in Australia/Lord_Howe on 5 April 2026: the clocks go back. The post goes out the"
                " first time (14:45 UTC on 4 April 2026), not the second (15:15 UTC on 4 April 2026)."
            ),
        ),
    ],
)  # fmt: skip
def test_a_time_that_occurs_twice_is_the_first_one_with_a_note(
    zone: str, local: str, instant: str, sentence: str
) -> None:
    resolved = resolve_local_time(local_time(local), zone)
    assert resolved.at == at(instant)
    assert isinstance(resolved.note, Overlap)
    assert resolved.note.message == sentence


def check_gap(zone: str, change: Transition) -> None:
    """Check that times before a gap use the old offset, times after it the new one, and times inside it the end."""
    opens, closes = (change.at + change.before).replace(tzinfo=None), (change.at + change.after).replace(tzinfo=None)
    for local in (opens - MINUTE, opens - INSTANT):
        assert resolve_local_time(local, zone) == ResolvedTime((local - change.before).replace(tzinfo=UTC)), (
            zone,
            local,
        )
    for local in (opens, opens + MINUTE, opens + (closes - opens) / 2, closes - MINUTE, closes - INSTANT):
        note = Gap(zone, local, change.after - change.before, change.at, closes)
        assert resolve_local_time(local, zone) == ResolvedTime(change.at, note), (zone, local)
    for local in (closes, closes + MINUTE):
        assert resolve_local_time(local, zone) == ResolvedTime((local - change.after).replace(tzinfo=UTC)), (
            zone,
            local,
        )


def check_overlap(zone: str, change: Transition) -> None:
    """Check that a time in an overlap is the instant with the old offset, which comes first."""
    opens, closes = (change.at + change.after).replace(tzinfo=None), (change.at + change.before).replace(tzinfo=None)
    for local in (opens - MINUTE, opens - INSTANT):
        assert resolve_local_time(local, zone) == ResolvedTime((local - change.before).replace(tzinfo=UTC)), (
            zone,
            local,
        )
    for local in (opens, opens + MINUTE, closes - MINUTE, closes - INSTANT):
        first_at, again_at = ((local - offset).replace(tzinfo=UTC) for offset in (change.before, change.after))
        assert resolve_local_time(local, zone) == ResolvedTime(first_at, Overlap(zone, local, first_at, again_at)), (
            zone,
            local,
        )
    for local in (closes, closes + MINUTE):
        assert resolve_local_time(local, zone) == ResolvedTime((local - change.after).replace(tzinfo=UTC)), (
            zone,
            local,
        )


def check_order(zone: str, change: Transition) -> None:
    """Check that a later local time is never an earlier instant."""
    middle = (change.at + min(change.before, change.after)).replace(tzinfo=None)
    locals_ = [middle + timedelta(minutes=7 * step) for step in range(-20, 30)]
    instants = [resolve_local_time(local, zone).at for local in locals_]
    assert instants == sorted(instants), zone


def check_round_trip(zone: str, change: Transition) -> None:
    """Check that a local time leads back to its instant, except in a repeated hour."""
    fall = max(change.before - change.after, timedelta())
    for minutes in range(-90, 91, 15):
        instant = change.at + timedelta(minutes=minutes)
        resolved = resolve_local_time(to_local_time(instant, zone), zone)
        if change.at <= instant < change.at + fall:
            assert resolved.at == instant - fall, (zone, instant)
            assert isinstance(resolved.note, Overlap)
            assert resolved.note.again_at == instant
        else:
            assert resolved.at == instant, (zone, instant)


def check(zone: str) -> int:
    changes = transitions(zone)
    for change in changes:
        (check_gap if change.after > change.before else check_overlap)(zone, change)
        check_order(zone, change)
        check_round_trip(zone, change)
    return len(changes)


@pytest.mark.parametrize("zone", TRICKY)
def test_every_clock_change_of_a_tricky_zone(zone: str) -> None:
    assert (check(zone) > 0) == (zone not in ("Asia/Kolkata", "Etc/UTC"))


@pytest.mark.slow
def test_every_clock_change_of_every_zone_until_2037() -> None:
    assert sum(check(zone) for zone in sorted(list_zone_names())) > 4_000


ZONES = st.sampled_from(sorted(list_zone_names()))
LOCALS = st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(2100, 1, 1))  # noqa: DTZ001 - local on purpose


@given(LOCALS, ZONES)
@example(datetime(1993, 8, 21, 12), "Pacific/Kwajalein")  # noqa: DTZ001
@example(datetime(1994, 12, 31, 12), "Pacific/Kiritimati")  # noqa: DTZ001
def test_a_resolved_time_shows_the_requested_local_time_except_in_a_gap(local: datetime, zone: str) -> None:
    resolved = resolve_local_time(local, zone)
    shown = to_local_time(resolved.at, zone)
    if isinstance(resolved.note, Gap):
        assert shown > local
        assert to_local_time(resolved.at - INSTANT, zone) < local
    else:
        assert shown == local


@given(LOCALS, LOCALS, ZONES)
def test_a_later_local_time_is_never_an_earlier_instant(one: datetime, other: datetime, zone: str) -> None:
    earlier, later = sorted([one, other])
    assert resolve_local_time(earlier, zone).at <= resolve_local_time(later, zone).at


def test_fold_is_ignored() -> None:
    local = local_time("2026-10-25T02:30")
    assert resolve_local_time(local.replace(fold=1), "Europe/Rome") == resolve_local_time(local, "Europe/Rome")


def test_a_time_with_a_zone_is_refused_as_a_local_time() -> None:
    with pytest.raises(ValueError, match="local time must be naive"):
        resolve_local_time(at("2026-01-01T00:00"), "Europe/Rome")


def test_an_unknown_zone_is_refused_with_its_field() -> None:
    with pytest.raises(WrongUse, match=r"'Europe/Roma'. Did you mean Europe/Rome\?") as error:
        resolve_local_time(local_time("2026-01-01T00:00"), "Europe/Roma")
    assert error.value.field == "timezone"


@pytest.mark.parametrize(
    ("text", "timezone", "instant"),
    [
        ("2026-03-29T14:30+02:00", None, "2026-03-29T12:30"),
        ("2026-03-29T14:30Z", None, "2026-03-29T14:30"),
        ("2026-03-29t14:30z", None, "2026-03-29T14:30"),
        ("2026-03-29T14:30:15.5-0330", None, "2026-03-29T18:00:15.5"),
        ("2026-03-29T02:30+01:00", "Europe/Rome", "2026-03-29T01:30"),
        ("2026-03-29T14:30", "Europe/Rome", "2026-03-29T12:30"),
        (" 2026-03-29 14:30:00 ", "America/New_York", "2026-03-29T18:30"),
    ],
)
def test_a_time_with_an_offset_is_an_instant_and_without_one_it_is_local(
    text: str, timezone: str | None, instant: str
) -> None:
    assert parse_time(text, timezone) == ResolvedTime(at(instant))


def test_a_parsed_time_in_a_gap_or_overlap_has_a_note() -> None:
    assert isinstance(parse_time("2026-03-29T02:30", "Europe/Rome").note, Gap)
    assert isinstance(parse_time("2026-10-25T02:30", "Europe/Rome").note, Overlap)


@pytest.mark.parametrize(
    ("text", "timezone", "field"),
    [
        ("2026-03-29T14:30", None, "timezone"),
        ("2026-03-29T14:30", "Nowhere", "timezone"),
        ("2026-03-29T14:30Z", "Nowhere", "timezone"),
        ("2026-03-29", "Europe/Rome", "at"),
        ("tomorrow", "Europe/Rome", "at"),
        ("", "Europe/Rome", "at"),
        ("2026-02-30T10:00", "Europe/Rome", "at"),
        ("2026-02-03T24:00", "Europe/Rome", "at"),
        ("2026-02-03T10:00:60", "Europe/Rome", "at"),
        ("2026-02-03T10:00 02:00", "Europe/Rome", "at"),
        ("2026-02-03T10:00+99:00", "Europe/Rome", "at"),
        ("20260203T1000", "Europe/Rome", "at"),
        ("٢٠٢٦-02-03T10:00", "Europe/Rome", "at"),
        ("1770112800", "Europe/Rome", "at"),
        ("9999-12-31T23:00", "America/New_York", "at"),
        ("0001-01-01T00:00+14:00", None, "at"),
        ("2026-03-29T14:30[Europe/Rome]", "Europe/Rome", "at"),
    ],
)
def test_an_invalid_time_is_refused_with_its_field(text: str, timezone: str | None, field: str) -> None:
    with pytest.raises(WrongUse) as error:
        parse_time(text, timezone)
    assert error.value.field == field


@given(st.text(alphabet="0123456789-+:TZ. ", max_size=30))
def test_any_text_is_a_utc_time_or_refused(text: str) -> None:
    try:
        resolved = parse_time(text, "Europe/Rome")
    except WrongUse:
        return
    assert resolved.at.utcoffset() == timedelta()
