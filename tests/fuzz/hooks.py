"""Loaded by Schemathesis itself: sound requests as its examples, and half of what it makes up becomes what is there.

What was answered is counted, call by call.
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

ASKING: Mapping[str, Any] = json.loads(Path(os.environ["POSTINO_FUZZ_ASKING"]).read_text())
KNOWN: Mapping[str, list[Any]] = ASKING["known"]
KNOWN_FOR: Mapping[str, Mapping[str, list[Any]]] = ASKING["known_for"]
SOUND: Mapping[str, list[dict[str, Any]]] = ASKING["sound"]
WHOSE: str = ASKING["whose"]
NEVER_TOLD: str | None = ASKING["never_told"]
NAMED_APART = {
    "POST /v1/posts": "text",
    "POST /v1/accounts": "handle",
    "POST /v1/users": "name",
    "POST /v1/blackouts": "end",
}
FOR_ANYBODY = ("/health/", "/v1/login")
UNREADABLE = (400, 405, 408, 413)  # what cannot be read, and what is not there
NOTHING_THERE = "There is nothing at this URL."
ANSWERED: Counter[tuple[str, int]] = Counter()


def number_of(name: str, value: Any) -> int:
    """The same for the same, so that a seed says all."""
    return zlib.crc32(f"{name} {value!r}".encode(errors="replace"))


def replaced(said: Any, label: str) -> Any:
    if not isinstance(said, dict):
        return said
    there = {**KNOWN, **KNOWN_FOR.get(label, {})}
    return {name: known(there, name, value) for name, value in said.items()}


def known(there: Mapping[str, list[Any]], name: str, value: Any) -> Any:
    number = number_of(name, value)
    if not there.get(name) or number % 2:
        return value
    return there[name][number // 2 % len(there[name])]


def apart(body: dict[str, Any], label: str, number: int) -> dict[str, Any]:
    """Two of the same would be one, or refused."""
    name = NAMED_APART.get(label)
    if name == "end":
        return body | {name: f"01:{1 + number % 59:02}"}
    return body if name is None else body | {name: f"{body[name]}-{number}"}


@schemathesis.hook
def before_add_examples(context: Any, examples: list[Any]) -> None:
    operation = context.operation
    for said in SOUND.get(operation.label, [{}]):
        parts: dict[str, Any] = {"path_parameters": said.get("path"), "query": said.get("query")}
        if "body" in said:
            media = "text/csv" if isinstance(said["body"], str) else "application/json"
            parts |= {"body": said["body"], "media_type": media}
        examples.append(operation.Case(**parts))


@schemathesis.hook
def map_case(context: Any, case: Any) -> Any:
    """What is meant to be wrong stays wrong: it has to be refused."""
    if case.meta is not None and case.meta.generation.mode is not GenerationMode.POSITIVE:
        return case
    label = context.operation.label
    for part in ("path_parameters", "query", "body"):
        before = getattr(case, part)
        after = sounder(before, label) if part == "body" else replaced(before, label)
        if isinstance(after, dict) and after != before:  # whatever is written is judged anew, and null not as meant
            setattr(case, part, after)
    # A key that was used already answers before anything else is looked at: every other time there is none.
    if case.headers and number_of("headers", dict(case.headers)) % 2:
        case.headers.pop("Idempotency-Key", None)
    return case


def sounder(body: Any, label: str) -> Any:
    """Of objects two in three are sound ones, one of these with a part of what was made up."""
    number = number_of("body", body)
    sound = [said["body"] for said in SOUND.get(label, []) if isinstance(said.get("body"), dict)]
    if not sound or not isinstance(body, dict) or number % 3 == 0:
        return replaced(body, label)
    bent = dict([*body.items()][:1]) if number % 3 == 1 else {}
    return apart(sound[number // 3 % len(sound)], label, number) | bent


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    ANSWERED[f"{case.operation.method.upper()} {case.operation.path}", response.status_code] += 1


@schemathesis.hook
def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
    """Whatever is sent as a file is a text: what is wrong with it is told line by line."""
    return not (isinstance(failure, AcceptedNegativeData) and case.operation.path == "/v1/imports")


@schemathesis.check
def nobody_comes_in_without_a_key(context: Any, response: Any, case: Any) -> None:
    if WHOSE != "nobody" or case.operation.path.startswith(FOR_ANYBODY):
        return
    if response.status_code == 404 and NOTHING_THERE in response.text:
        return  # a slash in a name makes it another address, and that there is nothing may be told to anybody
    assert response.status_code in (401, *UNREADABLE), f"without a key: {response.status_code}"


@schemathesis.check
def nobody_hears_of_anothers_things(context: Any, response: Any, case: Any) -> None:
    assert NEVER_TOLD is None or NEVER_TOLD not in response.text, "another brand's words"


@atexit.register
def tell() -> None:
    told = [[label, status, count] for (label, status), count in sorted(ANSWERED.items())]
    Path(ASKING["answered"]).write_text(json.dumps(told))
