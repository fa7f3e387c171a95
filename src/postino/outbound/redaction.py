"""Keeps secrets out of what is said: they are known by value, so it does not matter where they turn up."""

import json
from collections.abc import Collection
from urllib.parse import quote, quote_plus

HIDDEN = "[secret]"
SHORTEST_IN_ANSWERS = 12


class Redaction:
    """Takes every known secret out of a text, in each of the forms in which it travels."""

    __slots__ = ("_forms",)

    def __init__(self, secrets: Collection[str] = ()) -> None:
        forms = {form for secret in secrets if secret for form in _forms(secret)}
        # The longest first: what is left of a secret that contains another would give it away.
        self._forms = sorted(forms, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        return text

    def answer(self, body: bytes) -> bytes:
        """Some networks repeat a token to say that it is wrong. Short secrets stay: they could be any word."""
        for form in self._forms:
            if len(form) >= SHORTEST_IN_ANSWERS:
                body = body.replace(form.encode(), HIDDEN.encode())
        return body

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._forms)} forms)"


def _forms(secret: str) -> set[str]:
    in_json = json.dumps(secret)[1:-1]
    return {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), in_json}
