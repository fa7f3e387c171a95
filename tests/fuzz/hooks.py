"""Loaded by Schemathesis itself: half of what it makes up for a known name becomes something that is there."""

from __future__ import annotations

import json
import os
import zlib
from typing import Any

import schemathesis

KNOWN: dict[str, list[Any]] = json.loads(os.environ["POSTINO_FUZZ_KNOWN"])
SOUND: dict[str, dict[str, Any]] = json.loads(os.environ["POSTINO_FUZZ_SOUND"])
NAMED_APART = ("name", "text")  # two of the same would be one, or refused
SHUT_OUT = os.environ.get("POSTINO_FUZZ_SHUT_OUT") == "1"
FOR_ANYBODY = ("/health/", "/v1/login", "/v1/openapi.json")
BEFORE_ANYBODY_IS_ASKED = (400, 405, 413)  # what cannot be read, and what is not there


def replaced(said: Any) -> Any:
    """The same for the same, so that a seed says all."""
    if not isinstance(said, dict):
        return said
    return {name: known(name, value) for name, value in said.items()}


def number_of(name: str, value: Any) -> int:
    return zlib.crc32(f"{name} {value!r}".encode(errors="replace"))


def known(name: str, value: Any) -> Any:
    number = number_of(name, value)
    if name not in KNOWN or number % 2:
        return value
    return KNOWN[name][number // 2 % len(KNOWN[name])]


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: Any) -> Any:
    return replaced(path_parameters)


@schemathesis.hook
def map_query(context: Any, query: Any) -> Any:
    return replaced(query)


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    """Of objects two in three are sound ones, one of these with a part of what was made up."""
    sound = SOUND.get(context.operation.label)
    number = number_of("body", body)
    if sound is None or not isinstance(body, dict) or number % 3 == 0:
        return replaced(body)
    apart = {name: f"{text} {number}" for name, text in sound.items() if name in NAMED_APART}
    bent = dict([*body.items()][:1]) if number % 3 == 1 else {}
    return sound | apart | bent


@schemathesis.hook
def map_headers(context: Any, headers: Any) -> Any:
    """A key that was used already answers before anything else is looked at: every other time there is none."""
    if not headers or number_of("headers", headers) % 2:
        return headers
    return {name: text for name, text in headers.items() if name.lower() != "idempotency-key"}


@schemathesis.check
def nobody_comes_in_without_a_key(context: Any, response: Any, case: Any) -> None:
    if not SHUT_OUT or case.operation.path.startswith(FOR_ANYBODY):
        return
    unread = response.status_code == 422 and "broken character" in response.text
    assert unread or response.status_code in (401, *BEFORE_ANYBODY_IS_ASKED), f"without a key: {response.status_code}"
