"""Statistics of ended posts, and groups of similar errors."""

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


def published_post(late_by: float, network: str = "bluesky") -> EndedPost:
    return EndedPost(network, State.COMPLETED, late_by)


def test_without_posts_there_are_no_rates() -> None:
    summary = summarize([], MINUTE)
    assert (summary.published, summary.per_minute) == (0, 0)
    assert (summary.success_rate, summary.on_time_rate, summary.late_p50) == (None, None, None)


def test_rates_and_lateness_count_ended_posts() -> None:
    ended = [
        *(published_post(seconds) for seconds in range(1, 101)),
        EndedPost("x", State.FAILED, 0),
        EndedPost("x", State.CANCELLED, 9),
    ]
    summary = summarize(ended, 10 * MINUTE)
    assert (summary.published, summary.failed, summary.cancelled, summary.per_minute) == (100, 1, 1, 10)
    assert (summary.late_p50, summary.late_p95, summary.late_p99) == (50, 95, 99)
    assert summary.on_time_rate == 0.6
    assert summary.success_rate == round(100 / 101, 4)
    assert summarize_by_network(ended, MINUTE)["x"].success_rate == 0
    assert list(summarize_by_network(ended, MINUTE)) == ["bluesky", "x"]


def test_a_post_published_before_its_time_is_not_late() -> None:
    assert summarize([published_post(-3)], MINUTE).late_p99 == 0


@pytest.mark.parametrize(("ordered", "percent", "expected"), [([], 50, None), ([7.0], 1, 7.0), ([1.0, 2.0], 50, 1.0)])
def test_a_percentile_is_one_of_the_values(ordered: list[float], percent: int, expected: float | None) -> None:
    assert compute_percentile(ordered, percent) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (None, ""),
        ("Post 12 of 3.5 MB", "Post … of … MB"),
        ("job 01932c07-5b1e-7cc3-98c4-dc0c0c07398f is gone", "job … is gone"),
        ("no 'Ada' and no \"Bob\"", "no … and no …"),
        ("The disk is full.", "The disk is full."),
    ],
)
def test_generalized_errors_omit_numbers_ids_and_names(error: str | None, expected: str) -> None:
    assert generalize_error(error) == expected
    assert generalize_error(generalize_error(error)) == generalize_error(error)


def test_similar_errors_form_one_group_with_the_latest_as_example() -> None:
    later = replace(
        ONE, error="Post 2 is too long", letters=4, last_at=NOW + MINUTE, first_at=NOW - MINUTE, example=UUID(int=2)
    )
    other = replace(ONE, channel="y", letters=2)
    first, second = merge_groups([ONE, later, other])
    assert (first.letters, first.first_at, first.last_at, first.example) == (
        5, NOW - MINUTE, NOW + MINUTE, UUID(int=2),
    )  # fmt: skip
    assert second.channel == "y"
