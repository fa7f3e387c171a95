"""Convert local times to instants: in a gap the first valid instant after it, in an overlap the first of the two.

Zones come from `postino.values.time_zones`: data delivered with the program, not the machine.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from postino.errors import WrongUse
from postino.values.time_zones import get_zone as zone_named

SECOND = timedelta(seconds=1)
MAX_QUOTED = 100  # characters of a wrong value in a message
YEARS = range(1971, 9000)  # databases treat the very first and last years specially
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
TIME_FORMAT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)


@dataclass(frozen=True, slots=True)
class Gap:
    """The requested local time does not exist: the clocks go forward over it."""

    zone: str
    requested: datetime
    leap: timedelta
    at: datetime
    local: datetime  # what the clocks show then

    @property
    def message(self) -> str:
        day = self.requested.date()
        return (
            f"{_format_clock(self.requested)} does not exist in {self.zone} on {_format_date(day)}:"
            f" the clocks go forward from {_format_local(self.local - self.leap, day)}"
            f" to {_format_local(self.local, day)}."
            f" It goes out at {_format_local(self.local, day)} ({_format_utc(self.at, day)})."
        )


@dataclass(frozen=True, slots=True)
class Overlap:
    """The requested local time exists twice: the clocks go back over it."""

    zone: str
    requested: datetime
    at: datetime
    again_at: datetime

    @property
    def message(self) -> str:
        day = self.requested.date()
        return (
            f"{_format_clock(self.requested)} comes twice in {self.zone} on {_format_date(day)}: the clocks go back."
            f" It goes out the first time ({_format_utc(self.at, day)}),"
            f" not the second ({_format_utc(self.again_at, day)})."
        )


@dataclass(frozen=True, slots=True)
class ResolvedTime:
    """An instant, and a note for people if the local time was ambiguous or does not exist."""

    at: datetime
    note: Gap | Overlap | None = None


def parse_time(text: str, timezone: str | None = None) -> ResolvedTime:
    """Parse a time of `POST /v1/posts`: with an offset it is an instant, else it is local to `timezone`."""
    place = None if timezone is None else zone_named(timezone)
    try:
        written = text.strip().upper()
        told = datetime.fromisoformat(written) if TIME_FORMAT.fullmatch(written) else None
    except ValueError:
        told = None
    if told is None:
        raise WrongUse(
            f"{text[:MAX_QUOTED]!r} is no time: write it like 2026-03-29T14:30, which is local to `timezone`, or with"
            " an offset like 2026-03-29T14:30+02:00.",
            field="at",
        )
    if told.tzinfo is None and place is None:
        message = f"{text!r} is another instant in every zone: give `timezone` as well, or write it with an offset."
        raise WrongUse(message, field="timezone")
    found = (
        ResolvedTime(_to_utc(told)) if told.tzinfo is not None or place is None else resolve_local_time(told, place.key)
    )
    if found.at.year not in YEARS:
        message = f"{text!r} is too far from today: years from {YEARS[0]} to {YEARS[-1]} can be kept."
        raise WrongUse(message, field="at")
    return found


def resolve_local_time(local: datetime, zone: str) -> ResolvedTime:
    """Return the instant at which the clocks of a zone show this time."""
    if local.tzinfo is not None:
        raise ValueError(f"a local time has no zone of its own: {local!r}")
    place = zone_named(zone)
    local = local.replace(fold=0)
    first_at, second_at = (_to_utc(local.replace(tzinfo=place, fold=fold)) for fold in (0, 1))
    if first_at == second_at:
        return ResolvedTime(first_at)
    if first_at < second_at:
        return ResolvedTime(first_at, Overlap(zone, local, first_at, second_at))
    # In a gap the offset from before leads to an instant after the clocks changed, and the other way round.
    at = _find_clock_change(local, place, after=first_at, before=second_at)
    return ResolvedTime(at, Gap(zone, local, first_at - second_at, at, to_local_time(at, zone)))


def to_local_time(at: datetime, zone: str) -> datetime:
    """Return what the clocks of a zone show at an instant."""
    return at.astimezone(zone_named(zone)).replace(tzinfo=None, fold=0)


def _find_clock_change(local: datetime, place: ZoneInfo, *, before: datetime, after: datetime) -> datetime:
    """Return the first instant at which the clocks show a later time. They change at whole seconds."""
    before, after = before.replace(microsecond=0), after.replace(microsecond=0)
    while after - before > SECOND:
        middle = before + (after - before) // SECOND // 2 * SECOND
        if middle.astimezone(place).replace(tzinfo=None) > local:
            after = middle
        else:
            before = middle
    return after


def format_time(at: datetime) -> str:
    """Format an instant for a response: in UTC, with a Z."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _to_utc(at: datetime) -> datetime:
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise WrongUse(f"{at.isoformat()} is beyond the calendar.", field="at") from None


def _format_date(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def _format_clock(time: datetime) -> str:
    return time.strftime("%H:%M:%S" if time.second else "%H:%M")


def _format_local(time: datetime, day: date) -> str:
    return _format_clock(time) if time.date() == day else f"{_format_clock(time)} on {_format_date(time.date())}"


def _format_utc(at: datetime, day: date) -> str:
    return f"{_format_clock(at)} UTC" if at.date() == day else f"{_format_clock(at)} UTC on {_format_date(at.date())}"
