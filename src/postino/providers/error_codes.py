"""Classify error responses: by the network's own error rules first, by the HTTP status where no rule matches."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from postino.rules.failures import classify_status, parse_retry_after
from postino.values.json_text import parse_json
from postino.values.provider import Answer, Failure, FailureKind

# The response a network would send to a call without a token. An account that has none needs no call to get it.
MISSING_TOKEN = Answer(401, {}, b"")
MAX_QUOTED = 300  # characters of a network's own text in a message
MAX_MATCHED = 2000  # characters of it that the error rules look at

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """What one error of a network means: the error code and text it matches, its kind, and a message for people."""

    kind: FailureKind
    message: str
    codes: tuple[str, ...] = ()  # any of these; without codes, every code
    pattern: str = ""

    def matches(self, code: str | None, text: str) -> bool:
        return (not self.codes or code in self.codes) and re.search(self.pattern, text, re.IGNORECASE) is not None


def find_rule(rules: Iterable[ErrorRule], code: str | None, text: str) -> ErrorRule | None:
    """Return the first rule that matches."""
    return next((rule for rule in rules if rule.matches(code, text[:MAX_MATCHED])), None)


MESSAGES = {
    FailureKind.TRANSIENT: "{network} has a temporary problem. Postino checks what was published, then retries.",
    FailureKind.RATE_LIMIT: "This account is rate-limited by {network}{until}. Postino waits and then continues.",
    FailureKind.AUTH: "{network} no longer accepts the credentials of this account. Reconnect the account.",
    FailureKind.SUSPENDED: "{network} has suspended this account. Sign in to see why, then reconnect the account.",
    FailureKind.PERMANENT: "{network} refused the post. Change what it objects to and publish it again.",
    FailureKind.DOUBT: "{network} sent no clear response. The post may be published: Postino looks it up first.",
}


def classify_by_status(
    network: str, answer: Answer, code: str | None, text: str, now: datetime, reset_at: datetime | None = None
) -> Failure:
    """Classify a response by its HTTP status; the message quotes the network's own text.

    `reset_at` is when a rate limit ends according to a header of the network's own; `Retry-After` comes first.
    """
    kind = FailureKind(classify_status(answer.status))
    until = parse_retry_after(answer.headers, now) if kind in (FailureKind.RATE_LIMIT, FailureKind.TRANSIENT) else None
    if kind is FailureKind.RATE_LIMIT:
        until = until or reset_at
    return Failure(kind, _describe(network, answer, kind, text, until), code or str(answer.status), until)


def classify_unreadable(network: str, answer: Answer) -> Failure:
    """Classify an error response without a readable error: it may mean anything, so the outcome is uncertain."""
    return Failure(FailureKind.DOUBT, _describe(network, answer, FailureKind.DOUBT, "", None), str(answer.status))


def parse_object(answer: Answer) -> dict[str, Any]:
    """Return the JSON object in a response; an empty one if there is none, for example in an HTML page."""
    try:
        body = parse_json(answer.body)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _describe(network: str, answer: Answer, kind: FailureKind, text: str, until: datetime | None) -> str:
    end = f" until {until:%Y-%m-%d %H:%M:%S} UTC" if until else ""
    quoted = text.strip()[:MAX_QUOTED] or f"status {answer.status}"
    return f"{MESSAGES[kind].format(network=network, until=end)} Response: {quoted}"
