"""How a failed response is classified by default, and how long to wait after it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.rules.failures import (
    MAX_WAIT,
    add_wait,
    classify_status,
    is_definite_refusal,
    parse_reset_time,
    parse_retry_after,
)
from postino.values.provider import Failure, FailureKind

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("statuses", "kind"),
    [
        ([400, 403, 404, 405, 410, 413, 415, 422], FailureKind.PERMANENT),
        ([301, 307, 308], FailureKind.PERMANENT),
        ([408, 423, 425, 500, 502, 503, 504, 599], FailureKind.TRANSIENT),
        ([429], FailureKind.RATE_LIMIT),
        ([401], FailureKind.AUTH),
        ([409, 302, 303], FailureKind.DOUBT),
        ([200, 201, 204, 100, 600, 999], FailureKind.DOUBT),
    ],
)
def test_the_http_status_decides_the_kind_of_failure(statuses: list[int], kind: FailureKind) -> None:
    assert {status: FailureKind(classify_status(status)) for status in statuses} == dict.fromkeys(statuses, kind)


@pytest.mark.parametrize("status", [408, 409, 425, 500, 502, 503, 504, 200, 302, 303])
def test_a_status_that_may_hide_a_success_is_not_a_refusal(status: int) -> None:
    assert not is_definite_refusal(Failure(FailureKind(classify_status(status)), "It said so."))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 429])
def test_a_4xx_status_is_a_definite_refusal(status: int) -> None:
    assert is_definite_refusal(Failure(FailureKind(classify_status(status)), "It said so."))


def test_four_kinds_are_definite_refusals() -> None:
    refusals = {kind for kind in FailureKind if is_definite_refusal(Failure(kind, "It said so."))}
    assert refusals == {FailureKind.AUTH, FailureKind.SUSPENDED, FailureKind.PERMANENT, FailureKind.RATE_LIMIT}


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("120", NOW + timedelta(minutes=2)),
        (" 0.5 ", NOW + timedelta(seconds=0.5)),
        ("0", NOW),
        ("999999999999", NOW + MAX_WAIT),
        ("Mon, 16 Nov 2026 12:05:00 GMT", NOW + timedelta(minutes=5)),
        ("Mon, 16 Nov 2026 13:05:00 +0100", NOW + timedelta(minutes=5)),
        ("Mon, 16 Nov 2026 11:00:00 GMT", NOW),
        ("Fri, 01 Jan 2999 00:00:00 GMT", NOW + MAX_WAIT),
        ("-5", None),
        ("soon", None),
        ("", None),
        ("1e9", None),
        ("٣", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str, until: datetime | None) -> None:
    assert parse_retry_after({"retry-after": text}, NOW) == until


def test_a_missing_retry_after_requests_no_wait() -> None:
    assert parse_retry_after({}, NOW) is None


@given(st.text() | st.integers().map(str) | st.datetimes().map(lambda it: format_datetime(it.replace(tzinfo=UTC))))
def test_the_wait_is_never_in_the_past_nor_above_the_maximum(text: str) -> None:
    for until in (parse_retry_after({"retry-after": text}, NOW), parse_reset_time(text, NOW, {})):
        assert until is None or NOW <= until <= NOW + MAX_WAIT


@given(st.floats(allow_nan=False))
def test_a_wait_in_seconds_is_bounded(seconds: float) -> None:
    assert NOW <= add_wait(seconds, NOW) <= NOW + MAX_WAIT


@pytest.mark.parametrize(
    ("text", "until"),
    [
        (str(int(NOW.timestamp()) + 90), NOW + timedelta(seconds=90)),
        ("2026-11-16T12:05:00.000Z", NOW + timedelta(minutes=5)),
        ("2026-11-16T12:05:00", NOW + timedelta(minutes=5)),
        ("1", NOW),
        ("9" * 30, None),
        ("tomorrow", None),
        ("", None),
        (None, None),
    ],
)
def test_the_reset_time_is_a_date_or_seconds_since_1970(text: str | None, until: datetime | None) -> None:
    assert parse_reset_time(text, NOW, {}) == until


@pytest.mark.parametrize(
    "fast", [timedelta(minutes=-5), timedelta(seconds=-3), timedelta(seconds=3), timedelta(days=1)]
)
def test_a_time_is_read_by_the_clock_of_the_network(fast: timedelta) -> None:
    """A clock that is wrong, ours or theirs, makes no wait longer or shorter."""
    headers = {"date": format_datetime(NOW + fast, usegmt=True)}
    end = NOW + fast + timedelta(seconds=90)
    until = NOW + timedelta(seconds=90)
    assert parse_retry_after(headers | {"retry-after": format_datetime(end, usegmt=True)}, NOW) == until
    assert parse_reset_time(end.isoformat(), NOW, headers) == until
    assert parse_reset_time(str(int(end.timestamp())), NOW, headers) == until


@pytest.mark.parametrize("date", ["", "yesterday", format_datetime(NOW, usegmt=True)])
def test_a_missing_or_equal_date_of_the_network_changes_nothing(date: str) -> None:
    now = NOW + timedelta(seconds=0.9)
    end = NOW + timedelta(seconds=90)
    assert parse_reset_time(end.isoformat(), now, {"date": date}) == end
