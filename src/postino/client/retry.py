"""Decide whether and when to send a request again: only repeatable requests, and not before `Retry-After`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from postino.client.messages import ApiRequest, ApiResponse, NoResponse

TRANSIENT = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class RetryOptions:
    """How often a client sends a request, and how long it waits in between. Each delay is twice the one before."""

    attempts: int = 4
    first_delay: timedelta = timedelta(milliseconds=250)
    max_delay: timedelta = timedelta(seconds=20)  # the client gives up if the server asks for a longer delay


def retry_delay(
    request: ApiRequest[Any],
    response: ApiResponse | NoResponse,
    attempt: int,
    options: RetryOptions,
    jitter: float,
    now: datetime,
) -> timedelta | None:
    """Return the delay before the next attempt, or None for no further attempt. `jitter` is from 0 to 1."""
    is_transient = isinstance(response, NoResponse) or response.status in TRANSIENT
    if not is_transient or not request.is_repeatable or attempt >= options.attempts:
        return None
    requested = parse_retry_after(response, now)
    if requested is not None and requested > options.max_delay:
        return None
    backoff = min(options.first_delay * 2 ** (attempt - 1), options.max_delay)
    return backoff * (1 + jitter) / 2 if requested is None else requested + options.first_delay * jitter


def parse_retry_after(response: ApiResponse | NoResponse, now: datetime) -> timedelta | None:
    """Read the Retry-After header: seconds or an HTTP date. Return None if it is missing or invalid."""
    text = "" if isinstance(response, NoResponse) else response.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return timedelta(seconds=int(text[:9]))
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return max(at - now, timedelta())
