"""Checks of the arguments that callers pass. A wrong value raises WrongUse with the name of its field."""

from collections.abc import Sized
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from postino.errors import WrongUse
from postino.rules.retry import MAX_SECONDS, Backoff, Exponential, Schedule
from postino.values.job import Queue
from postino.values.text import INVALID_CHARACTERS

MAX_CHARACTERS = 500
MAX_LABEL_BYTES = 500  # several labels are in one index entry, which PostgreSQL limits to 2,704 bytes
MAX_ATTEMPTS = 1000
MAX_JOBS_PER_CALL = 100_000
MAX_CAP = 1_000_000
MAX_FACTOR = 1000  # of an exponential backoff
MAX_DELAYS = 100  # of a schedule


def check_text(field: str, value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and 0 < len(value) <= MAX_CHARACTERS and not INVALID_CHARACTERS.search(value):
        return value
    raise make_wrong_value_error(
        field, value, f"a text of 1 to {MAX_CHARACTERS} characters without NUL or unpaired surrogates"
    )


def check_name(name: Any, field: str = "name") -> str:
    checked = check_text(field, name)
    if checked is None:
        raise make_wrong_value_error(field, name, "a name")
    return checked


def check_label(field: str, value: Any) -> str | None:
    """Check a text by which jobs are found: their type, channel, account or brand."""
    checked = check_text(field, value)
    if checked is not None and len(checked.encode()) > MAX_LABEL_BYTES:
        raise make_wrong_value_error(field, value, f"a text of at most {MAX_LABEL_BYTES} bytes in UTF-8")
    return checked


def parse_queue(name: str | Queue, field: str = "queue") -> Queue:
    if isinstance(name, Queue):
        return name
    labels = [queue.label for queue in Queue]
    if name not in labels:
        raise WrongUse(f"{field}: there is no queue {name!r:.40}. There are: {', '.join(labels)}.", field=field)
    return Queue.from_label(name)


def check_backoff(value: Any) -> Backoff:
    match value:
        case Exponential(base, factor, most):
            is_bounded = all(map(is_delay, (base, most))) and is_number(factor) and 1 <= factor <= MAX_FACTOR
        case Schedule(delays):
            is_bounded = 0 < len(delays) <= MAX_DELAYS and all(map(is_delay, delays))
        case _:
            is_bounded = False
    if is_bounded:
        return value  # type: ignore[no-any-return]
    range_ = f"delays of 0 to {MAX_SECONDS:,.0f} seconds"
    expected = f"Exponential(…) with {range_} and a factor of 1 to {MAX_FACTOR}, or Schedule([…]) of 1 to {MAX_DELAYS}"
    raise make_wrong_value_error("backoff", value, expected)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_delay(value: Any) -> bool:
    return is_number(value) and 0 <= value <= MAX_SECONDS


def check_time(field: str, value: Any) -> datetime | None:
    """Return the time in UTC."""
    if value is None:
        return None
    if is_storable_time(value):
        return value.astimezone(UTC)  # type: ignore[no-any-return]
    raise make_wrong_value_error(
        field, value, "a datetime with a time zone, from 1970 to 9000, for example datetime.now(UTC)"
    )


def is_storable_time(value: Any) -> bool:
    """Whether every database can store this time: the first and last moments have special meanings in some."""
    return isinstance(value, datetime) and value.tzinfo is not None and 1970 < value.year < 9000


def check_parent(value: Any) -> UUID | None:
    if value is None or isinstance(value, UUID):
        return value
    raise make_wrong_value_error("parent", value, "the id of a job, a UUID")


def check_attempts(field: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_ATTEMPTS:
        return value
    raise make_wrong_value_error(field, value, f"a whole number from 1 to {MAX_ATTEMPTS}")


def check_seconds(field: str, value: Any) -> float | None:
    if value is None:
        return None
    if is_number(value) and 0 < value <= MAX_SECONDS:
        return float(value)
    raise make_wrong_value_error(
        field, value, f"a number of seconds greater than 0 and at most {MAX_SECONDS:,.0f}, a year"
    )


def check_cap(value: Any) -> int | None:
    """Return the cap: None means no cap, 0 lets nothing start."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_CAP):
        return value
    raise make_wrong_value_error("cap", value, f"a whole number from 0 to {MAX_CAP:,}, or None")


def check_count(field: str, values: Sized) -> Any:
    """Return the values if they are not too many for one transaction."""
    if len(values) <= MAX_JOBS_PER_CALL:
        return values
    raise WrongUse(f"{field}: {len(values):,} are too many for one call, {MAX_JOBS_PER_CALL:,} are allowed.", field)


def make_wrong_value_error(field: str, value: Any, expected: str) -> WrongUse:
    """Return the error for a wrong value."""
    return WrongUse(f"{field}: expected {expected}, not {value!r:.200}.", field=field)
