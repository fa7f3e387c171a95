"""How well posts went out, and which failures are alike."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from postino.rules.error_groups import ErrorGroup, generalize_error, merge_groups
from postino.rules.settlement import DeadLetterCause
from postino.rules.stats import EndedPost, compute_percentile, summarize, summarize_by_network
from postino.values.job import State

MINUTE = timedelta(minutes=1)
NOW = datetime(2026, 3, 1, tzinfo=UTC)
ONE = ErrorGroup(
    cause=DeadLetterCause.PERMANENT, channel="x", type="t", error="Post 1 is too long",
    letters=1, first_at=NOW, last_at=NOW,
    example=UUID(int=1),
)  # fmt: skip


def out(late_by: float, network: str = "bluesky") -> EndedPost:
    return EndedPost(network, State.COMPLETED, late_by)


def test_nothing_has_no_rates() -> None:
    told = summarize([], MINUTE)
    assert (told.published, told.per_minute) == (0, 0)
    assert (told.success_rate, told.on_time_rate, told.late_p50) == (None, None, None)


def test_rates_and_lateness_are_those_of_what_ended() -> None:
    ended = [
        *(out(seconds) for seconds in range(1, 101)),
        EndedPost("x", State.FAILED, 0),
        EndedPost("x", State.CANCELLED, 9),
    ]
    told = summarize(ended, 10 * MINUTE)
    assert (told.published, told.failed, told.cancelled, told.per_minute) == (100, 1, 1, 10)
    assert (told.late_p50, told.late_p95, told.late_p99) == (50, 95, 99)
    assert told.on_time_rate == 0.6
    assert told.success_rate == round(100 / 101, 4)
    assert summarize_by_network(ended, MINUTE)["x"].success_rate == 0
    assert list(summarize_by_network(ended, MINUTE)) == ["bluesky", "x"]


def test_what_went_out_before_its_time_by_another_clock_is_not_late() -> None:
    assert summarize([out(-3)], MINUTE).late_p99 == 0


@pytest.mark.parametrize(("ordered", "percent", "found"), [([], 50, None), ([7.0], 1, 7.0), ([1.0, 2.0], 50, 1.0)])
def test_percentiles_are_values_that_there_were(ordered: list[float], percent: int, found: float | None) -> None:
    assert compute_percentile(ordered, percent) == found


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (None, ""),
        ("Post 12 of 3.5 MB", "Post … of … MB"),
        ("job 01932c07-5b1e-7cc3-98c4-dc0c0c07398f is gone", "job … is gone"),
        ("no 'Ada' and no \"Bob\"", "no … and no …"),
        ("The disk is full.", "The disk is full."),
    ],
)
def test_what_is_particular_to_one_is_left_out(error: str | None, found: str) -> None:
    assert generalize_error(error) == found
    assert generalize_error(generalize_error(error)) == generalize_error(error)


def test_alike_are_one_with_the_latest_as_the_example() -> None:
    later = replace(
        ONE, error="Post 2 is too long", letters=4, last_at=NOW + MINUTE, first_at=NOW - MINUTE, example=UUID(int=2)
    )
    other = replace(ONE, channel="y", letters=2)
    first, second = merge_groups([ONE, later, other])
    assert (first.letters, first.first_at, first.last_at, first.example) == (
        5, NOW - MINUTE, NOW + MINUTE, UUID(int=2),
    )  # fmt: skip
    assert second.channel == "y"
