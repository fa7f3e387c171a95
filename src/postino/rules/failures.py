"""What a network's no means, where its own code table says nothing, and whether a visible call was truly refused."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Literal, Protocol

FailureKindName = Literal["transient", "rate_limit", "auth", "permanent", "doubt"]

MAX_WAIT = timedelta(days=7)  # a header that asks for more is a mistake, and nobody would look at it until then

KIND_BY_STATUS: Mapping[int, FailureKindName] = {
    302: "doubt",  # how a form answers once it has been accepted
    303: "doubt",
    401: "auth",
    408: "transient",
    409: "doubt",  # a conflict with what is there: perhaps with ourselves
    423: "transient",
    425: "transient",
    429: "rate_limit",
}

# Whatever is not named here may have been accepted all the same.
DEFINITE_KINDS: frozenset[str] = frozenset({"rate_limit", "auth", "suspended", "permanent"})


class HasFailureKind(Protocol):
    """A `Failure`, as far as this rule looks at it."""

    @property
    def kind(self) -> str: ...


def classify_status(status: int) -> FailureKindName:
    """The fallback. A success whose body was no success leaves a doubt, as does a status nobody has heard of."""
    if known := KIND_BY_STATUS.get(status):
        return known
    if 300 <= status < 500:
        return "permanent"
    return "transient" if 500 <= status < 600 else "doubt"


def is_outage_status(status: int) -> bool | None:
    """Whether such an answer shows a service in trouble. A limit shows neither: that is no outage, nor its end."""
    return None if classify_status(status) == "rate_limit" else classify_status(status) == "transient"


def is_definite_refusal(failure: HasFailureKind) -> bool:
    """Whether a visible call that ended so has certainly published nothing; otherwise only a look can tell."""
    return failure.kind in DEFINITE_KINDS


def parse_retry_after(headers: Mapping[str, str], now: datetime) -> datetime | None:
    """When a server wants to be asked again: it says so in seconds or as a date. Names are in lower case."""
    said = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", said, re.ASCII):
        return add_wait(float(said), now)
    try:
        return _clamp(parsedate_to_datetime(said), now)
    except (ValueError, OverflowError):
        return None


def add_wait(seconds: float, now: datetime) -> datetime:
    """So many seconds from now, within reason."""
    return now + timedelta(seconds=min(max(seconds, 0), MAX_WAIT.total_seconds()))


def parse_reset_time(said: str | None, now: datetime) -> datetime | None:
    """When a limit ends, as a date in ISO form or in seconds since 1970; None if it is neither."""
    try:
        if re.fullmatch(r"\d+(\.\d+)?", said or "", re.ASCII):
            return _clamp(datetime.fromtimestamp(float(said or 0), UTC), now)
        return _clamp(datetime.fromisoformat(said or ""), now)
    except (ValueError, OverflowError, OSError):  # the last two: a year that no calendar has
        return None


def _clamp(instant: datetime, now: datetime) -> datetime:
    aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return min(max(aware.astimezone(UTC), now), now + MAX_WAIT)
