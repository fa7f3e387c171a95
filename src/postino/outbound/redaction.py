"""Keep secrets out of messages, logs and stored responses. A secret is known by its value, wherever it appears."""

import json
from collections.abc import Collection
from urllib.parse import quote, quote_plus

PLACEHOLDER = "[secret]"
MIN_BODY_SECRET = 12


class Redaction:
    """Replaces every known secret in a text, in each encoding in which it may appear."""

    __slots__ = ("_forms",)

    def __init__(self, secrets: Collection[str] = ()) -> None:
        forms = {form for secret in secrets if secret for form in _encode(secret)}
        # The longest first: replacing a shorter secret first would leave the rest of a longer one readable.
        self._forms = sorted(forms, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for form in self._forms:
            text = text.replace(form, PLACEHOLDER)
        return text

    def redact_body(self, body: bytes) -> bytes:
        """Redact an error response: some networks repeat a wrong token. Short secrets stay, they could be any word."""
        for form in self._forms:
            if len(form) >= MIN_BODY_SECRET:
                body = body.replace(form.encode(), PLACEHOLDER.encode())
        return body

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._forms)} forms)"


def _encode(secret: str) -> set[str]:
    return {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]}
