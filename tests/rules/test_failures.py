"""What a network's no means where its own table says nothing."""

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
def test_the_status_decides_where_nothing_else_does(statuses: list[int], kind: FailureKind) -> None:
    assert {status: FailureKind(classify_status(status)) for status in statuses} == dict.fromkeys(statuses, kind)


@pytest.mark.parametrize("status", [408, 409, 425, 500, 502, 503, 504, 200, 302, 303])
def test_what_may_have_been_accepted_is_no_refusal(status: int) -> None:
    assert not is_definite_refusal(Failure(FailureKind(classify_status(status)), "It said so."))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 429])
def test_a_plain_no_is_a_refusal(status: int) -> None:
    assert is_definite_refusal(Failure(FailureKind(classify_status(status)), "It said so."))


def test_four_kinds_are_definite_refusals() -> None:
    refusals = {kind for kind in FailureKind if is_definite_refusal(Failure(kind, "It said so."))}
    assert refusals == {FailureKind.AUTH, FailureKind.SUSPENDED, FailureKind.PERMANENT, FailureKind.RATE_LIMIT}


@pytest.mark.parametrize(
    ("said", "until"),
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
def test_retry_after_is_read_in_seconds_or_as_a_date(said: str, until: datetime | None) -> None:
    assert parse_retry_after({"retry-after": said}, NOW) == until


def test_who_says_nothing_asks_for_no_wait() -> None:
    assert parse_retry_after({}, NOW) is None


@given(st.text() | st.integers().map(str) | st.datetimes().map(lambda it: format_datetime(it.replace(tzinfo=UTC))))
def test_whatever_is_said_the_wait_is_neither_past_nor_absurd(said: str) -> None:
    for until in (parse_retry_after({"retry-after": said}, NOW), parse_reset_time(said, NOW)):
        assert until is None or NOW <= until <= NOW + MAX_WAIT


@given(st.floats(allow_nan=False))
def test_a_number_of_seconds_is_bounded(seconds: float) -> None:
    assert NOW <= add_wait(seconds, NOW) <= NOW + MAX_WAIT


@pytest.mark.parametrize(
    ("said", "until"),
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
def test_the_end_of_a_limit_is_a_date_or_seconds_since_1970(said: str | None, until: datetime | None) -> None:
    assert parse_reset_time(said, NOW) == until
