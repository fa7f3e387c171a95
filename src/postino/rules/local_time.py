"""Convert local times to instants: in a gap the first valid instant after it, in an overlap the first of the two.

Times of posts, starts of blackouts, quota periods and days of the calendar follow this rule. The zone data is that of
`postino.values.time_zones`.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from postino.errors import WrongUse
from postino.values.text import MAX_QUOTED
from postino.values.time_zones import get_zone

SECOND = timedelta(seconds=1)
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
    shift: timedelta  # by which the clocks go forward
    at: datetime
    local: datetime  # the local time at that instant

    @property
    def message(self) -> str:
        day = self.requested.date()
        return (
            f"{_format_clock(self.requested)} does not exist in {self.zone} on {_format_date(day)}:"
            f" the clocks go forward from {_format_local(self.local - self.shift, day)}"
            f" to {_format_local(self.local, day)}."
            f" The post goes out at {_format_local(self.local, day)} ({_format_utc(self.at, day)})."
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
            f" The post goes out the first time ({_format_utc(self.at, day)}),"
            f" not the second ({_format_utc(self.again_at, day)})."
        )


@dataclass(frozen=True, slots=True)
class ResolvedTime:
    """An instant, and a note for people if the local time was ambiguous or does not exist."""

    at: datetime
    note: Gap | Overlap | None = None


def parse_time(text: str, timezone: str | None = None) -> ResolvedTime:
    """Parse a time of `POST /v1/posts`: with an offset it is an instant, else it is local to `timezone`."""
    zone = None if timezone is None else get_zone(timezone)
    try:
        cleaned = text.strip().upper()
        parsed = datetime.fromisoformat(cleaned) if TIME_FORMAT.fullmatch(cleaned) else None
    except ValueError:
        parsed = None
    if parsed is None:
        raise WrongUse(
            f"{text[:MAX_QUOTED]!r} is not a time. Write a time in `timezone` like 2026-03-29T14:30, or with an"
            " offset like 2026-03-29T14:30+02:00.",
            field="at",
        )
    if parsed.tzinfo is None and zone is None:
        message = f"{text!r} has no time zone. Add `timezone` or an offset."
        raise WrongUse(message, field="timezone")
    resolved = (
        ResolvedTime(_to_utc(parsed))
        if parsed.tzinfo is not None or zone is None
        else resolve_local_time(parsed, zone.key)
    )
    if resolved.at.year not in YEARS:
        message = f"{text!r} is too far from today: Postino stores years from {YEARS[0]} to {YEARS[-1]}."
        raise WrongUse(message, field="at")
    return resolved


def resolve_local_time(local: datetime, zone: str) -> ResolvedTime:
    """Return the instant of a local time in a zone."""
    if local.tzinfo is not None:
        raise ValueError(f"local time must be naive: {local!r}")
    zone_info = get_zone(zone)
    local = local.replace(fold=0)
    first_at, second_at = (_to_utc(local.replace(tzinfo=zone_info, fold=fold)) for fold in (0, 1))
    if first_at == second_at:
        return ResolvedTime(first_at)
    if first_at < second_at:
        return ResolvedTime(first_at, Overlap(zone, local, first_at, second_at))
    # In a gap the offset before the change gives an instant after it, and the offset after the change one before it.
    at = _find_clock_change(local, zone_info, low=second_at, high=first_at)
    return ResolvedTime(at, Gap(zone, local, first_at - second_at, at, to_local_time(at, zone)))


def to_local_time(at: datetime, zone: str) -> datetime:
    """Return the local time in a zone at an instant."""
    return at.astimezone(get_zone(zone)).replace(tzinfo=None, fold=0)


def _find_clock_change(local: datetime, zone_info: ZoneInfo, *, low: datetime, high: datetime) -> datetime:
    """Return the first instant between `low` and `high` with a later local time. Clocks change at whole seconds."""
    low, high = low.replace(microsecond=0), high.replace(microsecond=0)
    while high - low > SECOND:
        middle = low + (high - low) // SECOND // 2 * SECOND
        if middle.astimezone(zone_info).replace(tzinfo=None) > local:
            high = middle
        else:
            low = middle
    return high


def format_time(at: datetime) -> str:
    """Format an instant for a response: in UTC, with a Z."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _to_utc(at: datetime) -> datetime:
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise WrongUse(f"{at.isoformat()} is outside the calendar.", field="at") from None


def _format_date(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def _format_clock(time: datetime) -> str:
    return time.strftime("%H:%M:%S" if time.second else "%H:%M")


def _format_local(time: datetime, day: date) -> str:
    return _format_clock(time) if time.date() == day else f"{_format_clock(time)} on {_format_date(time.date())}"


def _format_utc(at: datetime, day: date) -> str:
    return f"{_format_clock(at)} UTC" if at.date() == day else f"{_format_clock(at)} UTC on {_format_date(at.date())}"
