"""Whether a request is sent again, and when: only what does no harm twice, and not before the server says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from postino.client.messages import Answer, Lost, Request

PASSING = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a request is sent at most, and how long is waited in between: each time twice as long."""

    tries: int = 4
    first: timedelta = timedelta(milliseconds=250)
    longest: timedelta = timedelta(seconds=20)  # a server that asks for more is not waited for


def pause(
    request: Request[Any], said: Answer | Lost, tried: int, patience: Patience, jitter: float, now: datetime
) -> timedelta | None:
    """How long to wait before it is sent again; None: it is not. `jitter` is from 0 to 1."""
    passing = isinstance(said, Lost) or said.status in PASSING
    if not passing or not request.repeatable or tried >= patience.tries:
        return None
    asked = retry_after(said, now)
    if asked is not None and asked > patience.longest:
        return None
    usual = min(patience.first * 2 ** (tried - 1), patience.longest)
    return usual * (1 + jitter) / 2 if asked is None else asked + patience.first * jitter


def retry_after(said: Answer | Lost, now: datetime) -> timedelta | None:
    """Seconds or an HTTP date; what is neither is as if nothing had been said."""
    text = "" if isinstance(said, Lost) else said.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return timedelta(seconds=int(text[:9]))
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return max(at - now, timedelta())
