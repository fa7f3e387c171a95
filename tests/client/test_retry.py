"""When a request is retried, and after which delay."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.client.messages import ApiRequest, ApiResponse, NoResponse
from postino.client.retry import RetryOptions, retry_delay

NOW = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
PATIENCE = RetryOptions(attempts=3, first_delay=timedelta(seconds=1), max_delay=timedelta(seconds=10))
LOOK: ApiRequest[Any] = ApiRequest("GET", "/v1/posts")
KEYED: ApiRequest[Any] = ApiRequest("POST", "/v1/posts", idempotency_key="k")
BARE: ApiRequest[Any] = ApiRequest("POST", "/v1/posts")
NO_ANSWER = NoResponse("the connection broke")


def answer(status: int, retry_after: str | None = None) -> ApiResponse:
    return ApiResponse(status, {} if retry_after is None else {"retry-after": retry_after}, b"")


@pytest.mark.parametrize("value", [NO_ANSWER, answer(429), answer(502), answer(503), answer(504)])
@pytest.mark.parametrize("request_", [LOOK, KEYED])
def test_repeatable_requests_are_retried(request_: ApiRequest[Any], value: ApiResponse | NoResponse) -> None:
    waits = [retry_delay(request_, value, tried, PATIENCE, 1.0, NOW) for tried in (1, 2, 3)]
    assert waits == [timedelta(seconds=1), timedelta(seconds=2), None]


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE", "PUT"])
@pytest.mark.parametrize("value", [NO_ANSWER, answer(429, "1"), answer(502), answer(503, "1"), answer(504)])
def test_change_without_key_is_never_retried(method: str, value: ApiResponse | NoResponse) -> None:
    assert retry_delay(ApiRequest(method, "/v1/posts"), value, 1, PATIENCE, 0.5, NOW) is None


@pytest.mark.parametrize("status", [200, 201, 202, 301, 400, 401, 403, 404, 409, 422, 500, 501])
def test_final_responses_are_not_retried(status: int) -> None:
    assert retry_delay(LOOK, answer(status, "1"), 1, PATIENCE, 0.5, NOW) is None


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("0", 0.5),
        ("7", 7.5),
        ("10", 10.5),
        ("11", None),
        ("99999999999999999999", None),
        ("Sun, 01 Mar 2026 10:00:05 GMT", 5.5),
        ("Sun, 01 Mar 2026 09:00:00 GMT", 0.5),
        ("Sun, 01 Mar 2026 11:00:00 GMT", None),
        ("soon", 0.75),
        ("-3", 0.75),
        ("", 0.75),
        ("²", 0.75),
    ],
)
def test_retry_after_sets_the_delay(message: str, seconds: float | None) -> None:
    wait = retry_delay(LOOK, answer(503, message), 1, PATIENCE, 0.5, NOW)
    assert wait == (None if seconds is None else timedelta(seconds=seconds))


@given(st.integers(1, 40), st.floats(0, 1), st.integers(0, 30))
def test_delay_is_between_retry_after_and_maximum(tried: int, jitter: float, asked: int) -> None:
    retry = RetryOptions(attempts=50)
    usual = retry_delay(KEYED, NO_ANSWER, tried, retry, jitter, NOW)
    assert usual is not None
    assert retry.first_delay / 2 <= usual <= retry.max_delay
    result = retry_delay(KEYED, answer(429, str(asked)), tried, retry, jitter, NOW)
    assert (result is None) == (asked > retry.max_delay.total_seconds())
    assert result is None or timedelta(seconds=asked) <= result <= retry.max_delay + retry.first_delay
