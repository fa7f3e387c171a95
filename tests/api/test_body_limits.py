"""Checking a body takes time in proportion to its size, so that one request cannot block the others."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from postino.api.body_limits import MAX_KEYS, InvalidBody, check_body
from postino.api.routes import JSON_BODY

GENEROUS = 5.0  # seconds, where it takes a tenth of one; comparing each name with each takes a minute


def refusal(body: str, most: int = JSON_BODY.max_fields) -> InvalidBody:
    with pytest.raises(InvalidBody) as refused:
        check_body(body.encode(), most)
    return refused.value


def many(number: int) -> dict[str, int]:
    return {f"{each:x}": 0 for each in range(number)}


def test_repeated_name_among_many_is_found_quickly() -> None:
    begun = time.perf_counter()
    result = refusal(json.dumps(many(60_000))[:-1] + ', "ea5f": 0}')
    assert (result.status, result.field) == (422, "ea5f")
    assert time.perf_counter() - begun < GENEROUS


def test_large_valid_body_is_checked_quickly() -> None:
    name = "n" * 400_000
    body = json.dumps({"payload": {name: [0] * 180_000}}).encode()
    begun = time.perf_counter()
    check_body(body)
    assert time.perf_counter() - begun < GENEROUS / 3
    begun = time.perf_counter()
    check_body(json.dumps({"payload": {name: [0] * 180_000, "a": "\n\x01"}}).encode())
    assert time.perf_counter() - begun < GENEROUS / 3
    result = refusal(json.dumps({name: [0, {"a": ["\0"]}]}))
    assert result.field == f"{name[:100]}[1].a[0]"


@pytest.mark.parametrize("place", ["text", "overrides", "media"])
def test_too_many_fields_are_rejected(place: str) -> None:
    crowd = many(MAX_KEYS + 1)
    inside = {"text": crowd, "overrides": {"bluesky": crowd}, "media": [{"url": "x"}, crowd]}[place]
    result = refusal(json.dumps({place: inside}))
    assert (result.status, result.field) == (422, place)
    assert f"{MAX_KEYS:,} fields" in result.detail


@pytest.mark.parametrize(
    ("body", "most"),
    [
        ({"hashtags": ["a"] * 10_001}, "10,000"),
        ({"media": [{}] * 1001}, "1,000"),
        ({"overrides": {"x": {"media": [{}] * 1001}}}, "1,000"),
        ({"media": [[]] * 1001}, "1,000"),
    ],
)
def test_too_many_elements_are_rejected(body: dict[str, Any], most: str) -> None:
    result = refusal(json.dumps(body))
    assert (result.status, result.field) == (422, next(iter(body)))
    assert f"{most} elements" in result.detail


def test_list_of_as_many_elements_as_allowed_is_accepted() -> None:
    bodies: list[dict[str, Any]] = [{"media": [{}] * 1000}, {"hashtags": ["a"] * 10_000}]
    for body in bodies:
        assert check_body(json.dumps(body).encode()) == body


@pytest.mark.parametrize("text", ["\0", "\ud800", "a\udfff"])
def test_invalid_character_is_found_at_any_depth(text: str) -> None:
    for body in ({"a": [{"b": text}]}, {"a": [{text: "b"}]}, [text], text):
        assert "unpaired surrogate" in refusal(json.dumps(body)).detail


def test_number_of_top_level_fields_is_limited() -> None:
    check_body(json.dumps(many(JSON_BODY.max_fields)).encode())
    assert refusal(json.dumps(many(JSON_BODY.max_fields + 1))).status == 422
    check_body(json.dumps(many(20)).encode(), 20)
    assert refusal(json.dumps(many(20 + 1)), 20).status == 422


def test_payload_of_a_job_is_not_limited() -> None:
    check_body(json.dumps({"type": "report", "payload": {"rows": [0] * 50_000, **many(50_000)}}).encode())


def test_broken_name_is_replaced_in_the_error() -> None:
    result = refusal(json.dumps({"a\ud800": many(MAX_KEYS + 1)}))
    assert result.field == "a\ufffd"
