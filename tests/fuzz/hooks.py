"""Hooks that Schemathesis loads: valid requests as examples, ids that exist in half of the generated requests.

They also count the responses.
"""

from __future__ import annotations

import atexit
import json
import os
import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import schemathesis
from schemathesis import GenerationMode
from schemathesis.core.failures import AcceptedNegativeData

HOOK_DATA: Mapping[str, Any] = json.loads(Path(os.environ["POSTINO_FUZZ_ASKING"]).read_text())
KNOWN: Mapping[str, list[Any]] = HOOK_DATA["known"]
KNOWN_FOR: Mapping[str, Mapping[str, list[Any]]] = HOOK_DATA["known_for"]
VALID: Mapping[str, list[dict[str, Any]]] = HOOK_DATA["sound"]
CALLER: str = HOOK_DATA["whose"]
FORBIDDEN_TEXT: str | None = HOOK_DATA["never_told"]
DISTINCT_FIELDS = {
    "POST /v1/posts": "text",
    "POST /v1/accounts": "handle",
    "POST /v1/users": "name",
    "POST /v1/blackouts": "end",
}
PUBLIC = ("/health/", "/v1/login")
UNREADABLE = (400, 405, 408, 413)  # what cannot be read, and what is not existing
NOT_FOUND = "There is nothing at this URL."
RESPONSES: Counter[tuple[str, int]] = Counter()


def hash_value(name: str, value: Any) -> int:
    """Return the same number for the same value, so that a seed determines the run."""
    return zlib.crc32(f"{name} {value!r}".encode(errors="replace"))


def insert_known_values(request: Any, label: str) -> Any:
    if not isinstance(request, dict):
        return request
    existing = {**KNOWN, **KNOWN_FOR.get(label, {})}
    return {name: choose_known(existing, name, value) for name, value in request.items()}


def choose_known(existing: Mapping[str, list[Any]], name: str, value: Any) -> Any:
    number = hash_value(name, value)
    if not existing.get(name) or number % 2:
        return value
    return existing[name][number // 2 % len(existing[name])]


def make_distinct(body: dict[str, Any], label: str, number: int) -> dict[str, Any]:
    """Make bodies differ where equal ones would be duplicates."""
    name = DISTINCT_FIELDS.get(label)
    if name == "end":
        return body | {name: f"01:{1 + number % 59:02}"}
    return body if name is None else body | {name: f"{body[name]}-{number}"}


@schemathesis.hook
def before_add_examples(context: Any, examples: list[Any]) -> None:
    operation = context.operation
    for request in VALID.get(operation.label, [{}]):
        parts: dict[str, Any] = {"path_parameters": request.get("path"), "query": request.get("query")}
        if "body" in request:
            media = "text/csv" if isinstance(request["body"], str) else "application/json"
            parts |= {"body": request["body"], "media_type": media}
        examples.append(operation.Case(**parts))


@schemathesis.hook
def map_case(context: Any, case: Any) -> Any:
    """Insert existing values into requests that are meant to be valid; invalid ones stay as they are."""
    if case.meta is not None and case.meta.generation.mode is not GenerationMode.POSITIVE:
        return case
    label = context.operation.label
    for part in ("path_parameters", "query", "body"):
        before = getattr(case, part)
        after = make_plausible(before, label) if part == "body" else insert_known_values(before, label)
        if isinstance(after, dict) and after != before:  # assigning makes Schemathesis judge the part again
            setattr(case, part, after)
    # A used key returns the stored response without any check, so half of the requests have none.
    if case.headers and hash_value("headers", dict(case.headers)) % 2:
        case.headers.pop("Idempotency-Key", None)
    return case


def make_plausible(body: Any, label: str) -> Any:
    """Replace two of three bodies by a valid one, and add a generated field to half of these."""
    number = hash_value("body", body)
    sound = [request["body"] for request in VALID.get(label, []) if isinstance(request.get("body"), dict)]
    if not sound or not isinstance(body, dict) or number % 3 == 0:
        return insert_known_values(body, label)
    bent = dict([*body.items()][:1]) if number % 3 == 1 else {}
    return make_distinct(sound[number // 3 % len(sound)], label, number) | bent


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    RESPONSES[f"{case.operation.method.upper()} {case.operation.path}", response.status_code] += 1


@schemathesis.hook
def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
    """Accept any text as a CSV file: its problems are in the response. A 413 accepts nothing."""
    is_refused = case.operation.path == "/v1/imports" or response.status_code == 413
    return not (isinstance(failure, AcceptedNegativeData) and is_refused)


@schemathesis.check
def requests_without_key_get_401(context: Any, response: Any, case: Any) -> None:
    if CALLER != "nobody" or case.operation.path.startswith(PUBLIC):
        return
    if response.status_code == 404 and NOT_FOUND in response.text:
        return  # a slash in a name makes another path, which does not exist for anybody
    assert response.status_code in (401, *UNREADABLE), f"without a key: {response.status_code}"


@schemathesis.check
def other_brands_are_not_revealed(context: Any, response: Any, case: Any) -> None:
    assert FORBIDDEN_TEXT is None or FORBIDDEN_TEXT not in response.text, "text of another brand"


@atexit.register
def write_responses() -> None:
    rows = [[label, status, count] for (label, status), count in sorted(RESPONSES.items())]
    Path(HOOK_DATA["answered"]).write_text(json.dumps(rows))
