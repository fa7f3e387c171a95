"""From a network's words to what they mean: its own table first, the HTTP status where the table says nothing."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from postino.rules.failures import classify_status, parse_retry_after
from postino.values.provider import Answer, Failure, FailureKind

# What a network would say to a call without a token: an account that has none needs no call to learn it.
UNKNOWN_CALLER = Answer(401, {}, b"")

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a network's table: what it says, by code and by pattern, and what that means for a person."""

    kind: FailureKind
    message: str
    codes: tuple[str, ...] = ()  # any of them; none: whichever it is
    pattern: str = ""

    def fits(self, code: str | None, words: str) -> bool:
        return (not self.codes or code in self.codes) and re.search(self.pattern, words, re.IGNORECASE) is not None


def look_up(table: Iterable[Row], code: str | None, words: str) -> Row | None:
    """The first row that fits."""
    return next((row for row in table if row.fits(code, words)), None)


BY_KIND = {
    FailureKind.TRANSIENT: "{network} has trouble at the moment. Nothing about the post has to be changed.",
    FailureKind.RATE_LIMIT: (
        "{network} wants fewer posts from this account for a while. Postino waits and goes on by itself."
    ),
    FailureKind.AUTH: "{network} no longer accepts the sign-in of this account. Reconnect the account.",
    FailureKind.PERMANENT: "{network} refuses this post. Change what it complains about, then publish it again.",
    FailureKind.DOUBT: (
        "{network} gave an answer that does not tell whether the post is out. Postino looks before it goes on."
    ),
}


def by_fallback(
    network: str, answer: Answer, code: str | None, words: str, now: datetime, reset_at: datetime | None = None
) -> Failure:
    """What the status says, with the network's own words. `reset_at` is when it says a limit ends, in its own way."""
    kind = FailureKind(classify_status(answer.status))
    said = words.strip() or f"status {answer.status}"
    message = f"{BY_KIND[kind].format(network=network)} It says: {said[:300]}"
    asked = parse_retry_after(answer.headers, now) if kind in (FailureKind.RATE_LIMIT, FailureKind.TRANSIENT) else None
    limited = reset_at if kind is FailureKind.RATE_LIMIT else None
    return Failure(kind, message, code or str(answer.status), asked or limited)


def by_nobody(network: str, answer: Answer) -> Failure:
    """A refusal cut short, where the status alone says nothing: anything may have been meant by it."""
    message = f"{BY_KIND[FailureKind.DOUBT].format(network=network)} It says: status {answer.status}"
    return Failure(FailureKind.DOUBT, message, str(answer.status))


def said_in(answer: Answer) -> dict[str, Any]:
    """The object in an answer; empty if there is none, as in a page meant for people."""
    try:
        said = json.loads(answer.body)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
