"""The check of responses against openapi.json notices every difference."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema_rs import ValidationError

from tests.api.openapi_check import check

HEADERS = {"content-type": "application/json", "x-request-id": "r"}
PROBLEM = HEADERS | {"content-type": "application/problem+json"}
ALIVE = {"status": "live"}


def check_response(body: Any, status: int = 200, path: str = "/health/live", headers: dict[str, str] = HEADERS) -> None:
    check("GET", path, status, headers, json.dumps(body).encode())


def test_documented_response_passes() -> None:
    check_response(ALIVE)
    check_response({"type": "about:blank", "title": "t", "status": 404, "detail": "d"}, 404, "/v1/jobs/7", PROBLEM)
    check_response({"anything": "at all"}, 200, "/nowhere")


@pytest.mark.parametrize("body", [{**ALIVE, "more": 1}, {}, {"status": "dead"}, {"status": 1}, []])
def test_extra_missing_or_mistyped_field_fails(body: Any) -> None:
    with pytest.raises(ValidationError):
        check_response(body)


def test_invalid_time_fails() -> None:
    figures: dict[str, Any] = dict.fromkeys(("published", "failed", "cancelled", "per_minute"), 1)
    figures |= dict.fromkeys(("success_rate", "on_time_rate", "late_p50", "late_p95", "late_p99"))
    whole = {**figures, "since_at": "2026-11-16T00:00:00Z", "until_at": "2026-11-17T00:00:00Z", "complete": True}
    check_response({**whole, "networks": {"bluesky": figures}}, path="/v1/stats")
    with pytest.raises(ValidationError):
        check_response({**whole, "networks": {}, "until_at": "tomorrow"}, path="/v1/stats")
    with pytest.raises(ValidationError):
        check_response({**whole, "networks": {"bluesky": {**figures, "more": 1}}}, path="/v1/stats")


def test_undocumented_status_header_or_media_type_fails() -> None:
    with pytest.raises(AssertionError, match="not documented"):
        check_response(ALIVE, 201)
    with pytest.raises(AssertionError, match="X-Request-Id"):
        check_response(ALIVE, headers={"content-type": "application/json"})
    with pytest.raises(AssertionError, match="text/html"):
        check_response(ALIVE, headers=HEADERS | {"content-type": "text/html; charset=utf-8"})
