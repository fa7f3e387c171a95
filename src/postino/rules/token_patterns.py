"""Recognise secrets by their form, in addition to redaction by value: for tokens that Postino does not know.

A network may repeat a token in an error before Postino has learned it, and so may the exception of a handler.
"""

import re
from typing import Any

PLACEHOLDER = "[secret]"
MIN_LENGTH = 20  # of a value without digits that is taken for a token; English words are shorter
FORMS = re.compile(
    r"(?<![\w-])eyJ[\w-]{6,}(?:(?:\.|%2[eE])[\w-]+){0,4}"  # JSON Web Tokens
    r"|(?<!\d)\d{6,12}(?::|%3[aA])[\w-]{30,}"  # Telegram's bot tokens
    r"|(?<![\w-])(?:postino_|ya29\.|gh[a-z]_|xox[a-z]-|sk-)[\w.-]{20,}"
)
NAMED = re.compile(
    r"(?i)(?P<name>\b(?:bearer|basic|dpop)(?:\s|%20|\+|:){1,3}"
    r"|(?:(?:access|refresh|id|auth|session|bot)_?token|(?:access|refresh)jwt|(?:client|app)_?secret|api_?key|password)"
    r"(?:\\?[\"'])?\s{0,2}(?:[:=]|%3[ad])\s{0,2}(?:\\?[\"'])?)"
    r"(?P<value>[\w.~+/=%-]{8,})"
)
# Each match of NAMED contains one of these. They are found far faster than NAMED, which tries many names everywhere.
NAMES = ("bearer", "basic", "dpop", "token", "jwt", "secret", "api", "password")


def hide_tokens(text: str) -> str:
    """Replace what looks like a token."""
    text = FORMS.sub(PLACEHOLDER, text)
    folded = text.casefold()
    return NAMED.sub(_hide_value, text) if any(name in folded for name in NAMES) else text


def hide_tokens_in_event(_: object, __: str, event: Any) -> Any:
    """Replace what looks like a token in every text of a log entry: a processor for structlog."""
    for name, value in event.items():
        if isinstance(value, str) and len(value) >= MIN_LENGTH:
            event[name] = hide_tokens(value)
    return event


def _hide_value(match: re.Match[str]) -> str:
    value = match["value"]
    is_token = len(value) >= MIN_LENGTH or any(sign.isdigit() for sign in value)
    return f"{match['name']}{PLACEHOLDER}" if is_token else match[0]
