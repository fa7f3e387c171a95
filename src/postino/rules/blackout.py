"""Blackouts: windows of local time in which nothing is published, for all, a channel, a brand or an account.

A window belongs to the day on which it starts; `end` is the first free minute. If `end` is not later than `start`, it
is on the next day: 22:00–07:00 is a night, 00:00–00:00 a local day, and 09:00–09:00 lasts until 09:00 on the next
day.

When the clocks change, a window covers everything from the first to the last instant at which the clocks show one of
its times: publishing in a blackout is worse than waiting. A boundary that the clocks skip is the instant of the
change, and a window that is skipped entirely does not happen. If a start is repeated, the first one counts; if an end
is repeated, the second one counts, unless no part of the window is repeated (22:00–02:00 ends at the first 02:00 if
02:00–03:00 repeats).
"""

import heapq
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from postino.errors import WrongUse
from postino.rules.local_time import Overlap, resolve_local_time, to_local_time
from postino.values.gate import Scope
from postino.values.suggestions import suggest_name
from postino.values.text import INVALID_CHARACTERS, INVALID_CHARACTERS_MESSAGE
from postino.values.time_zones import get_zone

NAMED_SCOPES = (Scope.CHANNEL, Scope.BRAND, Scope.ACCOUNT)
SCOPES = (Scope.ALL, *NAMED_SCOPES)
FIELDS = ("scope", *NAMED_SCOPES, "start", "end", "timezone", "days", "reason")
MAX_CHARACTERS = 500
CLOCK = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]")
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
INSTANT = timedelta(microseconds=1)
HORIZON = timedelta(days=400)  # in which the clocks of every zone have been through their year
FIRST_DAY, LAST_DAY = date.min.toordinal() + 2, date.max.toordinal() - 2  # beyond, no window is in the calendar
ADJOINING_DAYS = (
    1,
    2,
    3,
)  # days that may adjoin: Apia's Thursday and Saturday did, on either side of a Friday left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Blackout:
    """A window that repeats on its days, and what it blocks."""

    id: UUID
    scope: Scope
    name: str  # "" for all
    start: time
    end: time
    timezone: str
    days: frozenset[int] = frozenset()  # 0 is Sunday; empty means every day
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.scope not in SCOPES or (self.scope is Scope.ALL) == bool(self.name):
            raise ValueError(
                f"a blackout covers all, or one named channel, brand or account: {self.scope} {self.name!r}"
            )

    @property
    def is_endless(self) -> bool:
        """Whether its windows follow each other without a gap."""
        return self.start == self.end and len(self.days) in (0, len(WEEKDAYS))


@dataclass(frozen=True, slots=True)
class BlackoutWindow:
    """From `since_at` up to, but not including, `until_at`; None: it never ends."""

    since_at: datetime
    until_at: datetime | None


def parse_blackout(fields: Mapping[str, Any], id: UUID) -> Blackout:
    """Parse the body of `POST /v1/blackouts`. Raises WrongUse with the name of the wrong field."""
    for key in fields:
        if key not in FIELDS:
            field = None if len(key) > MAX_CHARACTERS or INVALID_CHARACTERS.search(key) else key
            raise WrongUse(f"A blackout has no field {_quote(key)}. {suggest_name(key, FIELDS)}", field=field)
    scope = _parse_scope(fields.get("scope"))
    return Blackout(
        id=id,
        scope=scope,
        name=_parse_name(fields, scope),
        start=_parse_clock(fields.get("start"), "start"),
        end=_parse_clock(fields.get("end"), "end"),
        timezone=_parse_timezone(fields.get("timezone")),
        days=_parse_days(fields.get("days")),
        reason=None if fields.get("reason") in (None, "") else _parse_text(fields["reason"], "reason"),
    )


def render_blackout(blackout: Blackout) -> dict[str, Any]:
    """Return a blackout as JSON, with its id."""
    rendered: dict[str, Any] = {"id": str(blackout.id), "scope": blackout.scope.value}
    if blackout.scope is not Scope.ALL:
        rendered[blackout.scope.value] = blackout.name
    rendered |= {"start": f"{blackout.start:%H:%M}", "end": f"{blackout.end:%H:%M}", "timezone": blackout.timezone}
    return rendered | {"days": sorted(blackout.days), "reason": blackout.reason}


def applies_to(blackout: Blackout, *, channel: str, brand: str | None, account: str | None) -> bool:
    """Return whether a blackout covers a job of this channel, brand and account."""
    match blackout.scope:
        case Scope.CHANNEL:
            return blackout.name == channel
        case Scope.BRAND:
            return blackout.name == brand
        case Scope.ACCOUNT:
            return blackout.name == account
        case _:
            return True


def find_window(blackout: Blackout, instant: datetime) -> BlackoutWindow | None:
    """Return the window that contains an instant; adjoining windows count as one."""
    day = _local_day(blackout, instant)
    # If the clocks go back over midnight, tomorrow's window may have started, and an old one may be repeated.
    for near in (day, day - 1, day + 1, day - 2):
        found = _compute_window(blackout, near)
        if found is not None and found[0] <= instant < found[1]:
            if blackout.is_endless:
                return BlackoutWindow(found[0], None)
            return BlackoutWindow(_extend_window(blackout, near, -1)[0], _extend_window(blackout, near, 1)[1])
    return BlackoutWindow(instant.astimezone(UTC), None) if blackout.is_endless else None


def find_free_time(blackouts: Iterable[Blackout], instant: datetime) -> datetime | None:
    """Return the first free instant from `instant` on; None if there is none within 400 days."""
    free_at = _require_zone(instant).astimezone(UTC)
    last_at = free_at + min(HORIZON, datetime.max.replace(tzinfo=UTC) - free_at)
    each = [list_windows(blackout, free_at, last_at) for blackout in blackouts]
    for window in heapq.merge(*each, key=lambda window: window.since_at):
        if window.since_at > free_at:
            return free_at
        if window.until_at is None:
            return None
        free_at = max(free_at, window.until_at)
    return free_at if free_at < last_at or free_at == instant else None


def list_windows(blackout: Blackout, since_at: datetime, until_at: datetime) -> Iterator[BlackoutWindow]:
    """Yield every window that overlaps this time, uncut and in order."""
    if since_at >= until_at:
        return
    window = find_window(blackout, since_at)
    if window is not None:
        yield window
        if window.until_at is None:
            return
    done_at = since_at if window is None or window.until_at is None else window.until_at
    for day in range(_local_day(blackout, done_at) - 2, _local_day(blackout, until_at) + 2):
        found = _compute_window(blackout, day)
        if found is not None and done_at < found[0] < until_at:
            done_at = _extend_window(blackout, day, 1)[1]
            yield BlackoutWindow(found[0], done_at)


def describe_blackout(blackout: Blackout) -> str:
    """Describe a blackout: "every day 22:00–07:00 Europe/Rome, for brand acme"."""
    start, end = f"{blackout.start:%H:%M}", f"{blackout.end:%H:%M}"
    hours = f"{start}–{end}"
    if start == end:
        hours = "all day" if start == "00:00" else f"{start}–{end} the next day"
    whom = "everything" if blackout.scope is Scope.ALL else f"{blackout.scope} {blackout.name}"
    return f"{_describe_days(blackout.days)} {hours} {blackout.timezone}, for {whom}"


def _local_day(blackout: Blackout, instant: datetime) -> int:
    """Return the number of the local day, or of the UTC day at the very ends of the calendar."""
    try:
        return _require_zone(instant).astimezone(get_zone(blackout.timezone)).toordinal()
    except OverflowError:
        return instant.toordinal()


def _require_zone(instant: datetime) -> datetime:
    """Return an aware datetime unchanged. Raises ValueError for a naive one."""
    if instant.tzinfo is None:
        raise ValueError(f"instant has no time zone: {instant!r}")
    return instant


def _compute_window(blackout: Blackout, day: int) -> tuple[datetime, datetime] | None:
    """Return the window that starts on this day, if any. Days are numbered so that Sundays divide by seven."""
    if blackout.days and day % 7 not in blackout.days:
        return None
    return _compute_span(blackout.timezone, blackout.start, blackout.end, day)


@lru_cache(maxsize=16_384)  # every claim needs the same few days
def _compute_span(timezone: str, start: time, end: time, day: int) -> tuple[datetime, datetime] | None:
    if not FIRST_DAY <= day <= LAST_DAY:
        return None
    opens = datetime.combine(date.fromordinal(day), start)
    closes = datetime.combine(date.fromordinal(day if start < end else day + 1), end)
    since_at, until = resolve_local_time(opens, timezone).at, resolve_local_time(closes, timezone)
    until_at = until.at
    if isinstance(until.note, Overlap) and to_local_time(until.note.again_at - INSTANT, timezone) < closes:
        until_at = until.note.again_at
    return (since_at, until_at) if since_at < until_at else None


def _extend_window(blackout: Blackout, day: int, step: int) -> tuple[datetime, datetime]:
    """Return the last of the adjoining windows, from this day forwards (1) or backwards (-1)."""
    here = _compute_window(blackout, day)
    assert here is not None
    for far in ADJOINING_DAYS:
        there = _compute_window(blackout, day + far * step)
        if there is not None and there[0] <= here[1] and here[0] <= there[1]:
            return _extend_window(blackout, day + far * step, step)
    return here


def _describe_days(days: frozenset[int]) -> str:
    if len(days) in (0, len(WEEKDAYS)):
        return "every day"
    week = [day % 7 for day in range(1, 8)]  # from Monday on
    names = [WEEKDAYS[day] for day in week if day in days]
    first = next(place for place, day in enumerate(week) if day in days)
    if len(names) > 2 and all(day in days for day in week[first : first + len(names)]):
        return f"{names[0]} to {names[-1]}"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _parse_scope(value: Any) -> Scope:
    if not isinstance(value, str) or value not in SCOPES:
        found = "is missing" if value is None else f"is {_quote(value)}"
        raise WrongUse(f"scope {found}. Use one of: {', '.join(SCOPES)}.", field="scope")
    return Scope(value)


def _parse_name(value: Mapping[str, Any], scope: Scope) -> str:
    for other in NAMED_SCOPES:
        if other is not scope and value.get(other) is not None:
            message = f"{other} {_quote(value[other])} does not apply to `scope` {scope.value!r}."
            raise WrongUse(f"{message} Leave `{other}` out, or set `scope` to {other.value!r}.", field=other.value)
    return "" if scope is Scope.ALL else _parse_text(value.get(scope), scope.value)


def _parse_text(value: Any, field: str) -> str:
    if value is None:
        raise WrongUse(f"{field} is missing. It is required with `scope` {field!r}.", field=field)
    if not isinstance(value, str) or not value.strip():
        raise WrongUse(f"{field} is {_quote(value)}: it must be a text that is not empty.", field=field)
    if len(value) > MAX_CHARACTERS:
        message = f"{field} {_quote(value)} has {len(value):,} characters; the maximum is {MAX_CHARACTERS}."
        raise WrongUse(message, field=field)
    if INVALID_CHARACTERS.search(value):
        raise WrongUse(f"{field} {_quote(value)} {INVALID_CHARACTERS_MESSAGE}", field=field)
    return value


def _parse_clock(value: Any, field: str) -> time:
    if isinstance(value, str) and CLOCK.fullmatch(value):
        return time.fromisoformat(value)
    found = "is missing" if value is None else f"is {_quote(value)}"
    advice = "Write midnight as 00:00" if value == "24:00" else "Write HH:MM from 00:00 to 23:59, like 09:05"
    raise WrongUse(f"{field} {found}. {advice}.", field=field)


def _parse_timezone(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_CHARACTERS:
        found = "is missing" if value is None else f"is {_quote(value)}"
        raise WrongUse(f"timezone {found}. Zones have names like Europe/Rome.", field="timezone")
    return get_zone(value).key


def _parse_days(value: Any) -> frozenset[int]:
    advice = "Give a list of numbers from 0 (Sunday) to 6 (Saturday); an empty list means every day"
    if value is None:
        return frozenset()
    if not isinstance(value, list | tuple | set | frozenset):
        raise WrongUse(f"days is {_quote(value)}. {advice}.", field="days")
    for day in value:
        if not isinstance(day, int) or isinstance(day, bool) or not 0 <= day <= 6:
            raise WrongUse(f"days contains {_quote(day)}. {advice}.", field="days")
    return frozenset(value)


def _quote(value: Any) -> str:
    """Return the beginning of a value, enough to recognise it."""
    try:
        return reprlib.repr(value)
    except ValueError:  # a number of thousands of digits cannot be written down
        return f"an enormous {type(value).__name__}"
