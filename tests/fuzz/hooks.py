"""Loaded by Schemathesis itself: half of what it makes up for a known name becomes something that is there."""

from __future__ import annotations

import json
import os
import zlib
from typing import Any

import schemathesis

KNOWN: dict[str, list[Any]] = json.loads(os.environ["POSTINO_FUZZ_KNOWN"])
SHUT_OUT = os.environ.get("POSTINO_FUZZ_SHUT_OUT") == "1"
FOR_ANYBODY = ("/health/", "/v1/login", "/v1/openapi.json")
BEFORE_ANYBODY_IS_ASKED = (400, 405, 413)  # what cannot be read, and what is not there


def replaced(said: Any) -> Any:
    """The same for the same, so that a seed says all."""
    if not isinstance(said, dict):
        return said
    return {name: known(name, value) for name, value in said.items()}


def known(name: str, value: Any) -> Any:
    number = zlib.crc32(f"{name} {value!r}".encode(errors="replace"))
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
    return replaced(body)


@schemathesis.check
def nobody_comes_in_without_a_key(context: Any, response: Any, case: Any) -> None:
    if not SHUT_OUT or case.operation.path.startswith(FOR_ANYBODY):
        return
    unread = response.status_code == 422 and "broken character" in response.text
    assert unread or response.status_code in (401, *BEFORE_ANYBODY_IS_ASKED), f"without a key: {response.status_code}"
