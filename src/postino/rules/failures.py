"""Classify error responses by status, and parse when a network wants to be called again."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Literal, Protocol

FailureKindName = Literal["transient", "rate_limit", "auth", "permanent", "doubt"]

MAX_WAIT = timedelta(days=7)  # a header that asks for more is a mistake
CLOCK_TOLERANCE = timedelta(seconds=2)  # of the Date header, which has whole seconds and travels

KIND_BY_STATUS: Mapping[int, FailureKindName] = {
    302: "doubt",  # the usual response to an accepted form
    303: "doubt",
    401: "auth",
    408: "transient",
    409: "doubt",  # a conflict with an existing post: perhaps our own
    423: "transient",
    425: "transient",
    429: "rate_limit",
}

# After any other kind the request may have been accepted.
DEFINITE_KINDS: frozenset[str] = frozenset({"rate_limit", "auth", "suspended", "permanent"})


class HasFailureKind(Protocol):
    """The part of a `Failure` that this rule needs."""

    @property
    def kind(self) -> str: ...


def classify_status(status: int) -> FailureKindName:
    """Classify a response by its status alone. A 2xx with an error body and an unknown status are doubts."""
    if known := KIND_BY_STATUS.get(status):
        return known
    if 300 <= status < 500:
        return "permanent"
    return "transient" if 500 <= status < 600 else "doubt"


def is_outage_status(status: int) -> bool | None:
    """Return whether a status counts as a failure of the service; None for a rate limit, which says nothing."""
    return None if classify_status(status) == "rate_limit" else classify_status(status) == "transient"


def is_refusal_status(status: int) -> bool:
    """Return whether a response with this status says by itself that the request was refused."""
    return classify_status(status) in DEFINITE_KINDS


def is_definite_refusal(failure: HasFailureKind) -> bool:
    """Return whether a visible call certainly published nothing; otherwise only a lookup can tell."""
    return failure.kind in DEFINITE_KINDS


def parse_retry_after(headers: Mapping[str, str], now: datetime) -> datetime | None:
    """Parse the Retry-After header, in seconds or as a date. Header names are in lower case."""
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
        return add_wait(float(text), now)
    try:
        return _clamp(parsedate_to_datetime(text), now, headers)
    except (ValueError, OverflowError):
        return None


def add_wait(seconds: float, now: datetime) -> datetime:
    """Return the instant so many seconds from now, at most MAX_WAIT."""
    return now + timedelta(seconds=min(max(seconds, 0), MAX_WAIT.total_seconds()))


def parse_reset_time(text: str | None, now: datetime, headers: Mapping[str, str]) -> datetime | None:
    """Parse the end of a rate limit, as an ISO date or in seconds since 1970; None if it is neither.

    `headers` are those of the response: their Date tells by which clock the network counts.
    """
    try:
        if re.fullmatch(r"\d+(\.\d+)?", text or "", re.ASCII):
            return _clamp(datetime.fromtimestamp(float(text or 0), UTC), now, headers)
        return _clamp(datetime.fromisoformat(text or ""), now, headers)
    except (ValueError, OverflowError, OSError):  # the last two: a year beyond the calendar
        return None


def _clamp(instant: datetime, now: datetime, headers: Mapping[str, str]) -> datetime:
    """Return the instant by our clock, from now on and within MAX_WAIT."""
    wait = _to_utc(instant) - _read_date(headers, now)
    return now + min(max(wait, timedelta(0)), MAX_WAIT)


def _read_date(headers: Mapping[str, str], now: datetime) -> datetime:
    """Return the network's time from the Date header. It has whole seconds, so a difference of less is none."""
    try:
        date = _to_utc(parsedate_to_datetime(headers.get("date", "")))
    except (ValueError, OverflowError):
        return now
    return now if abs(now - date) < CLOCK_TOLERANCE else date


def _to_utc(instant: datetime) -> datetime:
    return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).astimezone(UTC)
