"""Checks of the arguments that callers pass. A wrong value raises WrongUse with the name of its field."""

import math
import re
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from postino.errors import WrongUse
from postino.rules.retry import Backoff, Exponential, Schedule
from postino.values.job import Queue

MAX_CHARACTERS = 500
MAX_ATTEMPTS = 1000
MAX_CAP = 1_000_000
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # NUL and lone surrogates


def check_text(field: str, value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and 0 < len(value) <= MAX_CHARACTERS and not UNSTORABLE.search(value):
        return value
    raise wrong_value(field, value, f"a text of 1 to {MAX_CHARACTERS} characters without NUL")


def check_name(name: Any, field: str = "name") -> str:
    checked = check_text(field, name)
    if checked is None:
        raise wrong_value(field, name, "a name")
    return checked


def parse_queue(name: str | Queue, field: str = "queue") -> Queue:
    if isinstance(name, Queue):
        return name
    labels = [queue.label for queue in Queue]
    if name not in labels:
        raise WrongUse(f"{field}: there is no queue {name!r:.40}. There are: {', '.join(labels)}.", field=field)
    return Queue.from_label(name)


def check_backoff(value: Any) -> Backoff:
    if isinstance(value, Exponential | Schedule):
        return value
    raise wrong_value("backoff", value, "Exponential(…) or Schedule([…])")


def check_time(field: str, value: Any) -> datetime | None:
    """Return the time in UTC."""
    if value is None:
        return None
    if is_storable_time(value):
        return value.astimezone(UTC)  # type: ignore[no-any-return]
    raise wrong_value(field, value, "a datetime with a time zone, from 1970 to 9000, for example datetime.now(UTC)")


def is_storable_time(value: Any) -> bool:
    """Whether every database can store this time: the first and last moments have special meanings in some."""
    return isinstance(value, datetime) and value.tzinfo is not None and 1970 < value.year < 9000


def check_parent(value: Any) -> UUID | None:
    if value is None or isinstance(value, UUID):
        return value
    raise wrong_value("parent", value, "the id of a job, a UUID")


def check_attempts(field: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_ATTEMPTS:
        return value
    raise wrong_value(field, value, f"a whole number from 1 to {MAX_ATTEMPTS}")


def check_seconds(field: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
        return float(value)
    raise wrong_value(field, value, "a number of seconds greater than 0")


def check_cap(value: Any) -> int | None:
    """Return the cap: None means no cap, 0 lets nothing start."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_CAP):
        return value
    raise wrong_value("most", value, f"a whole number from 0 to {MAX_CAP:,}, or None")


def wrong_value(field: str, value: Any, expected: str) -> WrongUse:
    """Return the error for a wrong value."""
    return WrongUse(f"{field}: expected {expected}, not {value!r:.200}.", field=field)
