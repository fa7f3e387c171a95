"""Keep secrets out of messages, logs and stored responses: known ones by value, in every encoding, others by form."""

import base64
import html
import json
import re
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from urllib.parse import quote, quote_plus

from postino.rules.token_patterns import PLACEHOLDER, hide_tokens

MIN_BODY_SECRET = 8
MIN_LEARNED = 8
MAX_ERROR_BYTES = 8_000  # of an error response: far more than any network's error needs
MAX_SECRET_BYTES = 10_000
MAX_READ_OF_ERROR = MAX_ERROR_BYTES + MAX_SECRET_BYTES  # so that no secret is cut in two
MAX_SIGN_IN_BYTES = 64_000  # of a response that may contain new tokens
MAX_HOSTS, MAX_LEARNED = 256, 16  # hosts, and the latest secrets of each
TOKEN_FIELDS = re.compile(rb'"[A-Za-z_]{0,20}(?:[tT]oken|Jwt|[sS]ecret|[pP]assword)"\s{0,4}:\s{0,4}"([^"\\]{8,8000})"')


class Redaction:
    """Replaces every known secret in a text, in each encoding in which it may appear."""

    __slots__ = ("_forms",)

    def __init__(self, secrets: Collection[str] = ()) -> None:
        self._forms: list[str] = []
        self.add_forms(form for secret in secrets for form in encode_secret(secret))

    def add_forms(self, forms: Iterable[str]) -> None:
        # The longest first: replacing a shorter secret first would leave the rest of a longer one readable.
        self._forms = sorted({*self._forms, *forms}, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for form in self._forms:
            text = text.replace(form, PLACEHOLDER)
        return hide_tokens(text)

    def redact_body(self, body: bytes) -> bytes:
        """Redact an error response: some networks repeat a wrong token. Short secrets stay, they could be any word.

        The rest of a very long response is cut off, and with it a secret that the cut would break in two.
        """
        body = body[:MAX_READ_OF_ERROR]
        for form in self._forms:
            if len(form) >= MIN_BODY_SECRET:
                body = body.replace(form.encode(), PLACEHOLDER.encode())
        return hide_tokens(body.decode("latin-1")).encode("latin-1")[:MAX_ERROR_BYTES]

    def redact_headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        return {name: self(value) for name, value in headers.items()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._forms)} forms)"


class LearnedSecrets:
    """The secrets of this process's latest sessions, by host: what was sent as authorization or received as a token.

    The account does not contain them yet: a sign-in or a refresh has just created them.
    """

    def __init__(self) -> None:
        self._hosts: OrderedDict[str, OrderedDict[str, frozenset[str]]] = OrderedDict()

    def learn(self, host: str, secrets: Iterable[str]) -> None:
        for secret in secrets:
            if not MIN_LEARNED <= len(secret) <= MAX_SECRET_BYTES:
                continue
            known = self._hosts.setdefault(host, OrderedDict())
            self._hosts.move_to_end(host)
            known[secret] = encode_secret(secret)
            known.move_to_end(secret)
            if len(known) > MAX_LEARNED:
                known.popitem(last=False)
        if len(self._hosts) > MAX_HOSTS:
            self._hosts.popitem(last=False)

    def list_forms(self, host: str) -> Iterator[str]:
        for forms in self._hosts.get(host, {}).values():
            yield from forms


def find_request_secrets(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield the secrets in the header `Authorization`; of `Basic`, also the password."""
    for name, value in headers.items():
        scheme, _, secret = value.partition(" ")
        if name.lower() == "authorization" and secret:
            yield secret.strip()
            if scheme.lower() == "basic":
                with suppress(ValueError):
                    yield base64.b64decode(secret, validate=True).decode().partition(":")[2]


def find_response_secrets(body: bytes) -> list[str]:
    """Return the values of fields that are named like tokens in the response to a sign-in or a refresh."""
    return [value.decode(errors="replace") for value in TOKEN_FIELDS.findall(body[:MAX_SIGN_IN_BYTES])][:MAX_LEARNED]


@lru_cache(maxsize=1024)
def encode_secret(secret: str) -> frozenset[str]:
    """Return a secret in every encoding in which a message may repeat it."""
    raw = {text for text in (secret, secret.strip()) if text}
    forms = set(raw)
    for text in raw:
        quoted = {quote(text), quote(text, safe=""), quote_plus(text)}
        forms |= quoted | {quote(one, safe="") for one in quoted}
        forms |= {re.sub("%[0-9A-F]{2}", lambda it: it[0].lower(), one) for one in quoted}
        for escaped in (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1]):
            forms |= {escaped, escaped.replace("/", "\\/")}
        forms |= {html.escape(text), html.escape(text, quote=False), html.escape(text).replace("&#x27;", "&#39;")}
        data = text.encode(errors="surrogatepass")
        if len(text) >= MIN_BODY_SECRET:
            forms |= {data.hex(), data.hex().upper(), *_encode_base64(data)}
    return frozenset(forms)


def _encode_base64(data: bytes) -> Iterator[str]:
    """Yield the characters of a base64 text that depend on the secret alone, wherever in the text it begins."""
    for before in range(3):
        after = -(before + len(data)) % 3
        encoded = base64.b64encode(bytes(before) + data + bytes(after)).decode()
        inner = encoded[(before * 8 + 5) // 6 : len(encoded) - (after * 8 + 5) // 6]
        if len(inner) >= MIN_BODY_SECRET:
            yield inner
            yield inner.replace("+", "-").replace("/", "_")
