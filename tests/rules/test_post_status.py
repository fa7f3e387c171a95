"""The status and flags of posts and contents."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from postino.rules.post_status import (
    LATE_AFTER,
    STATUS,
    ContentStatus,
    Flag,
    PostSnapshot,
    PostStatus,
    compute_content_status,
    compute_post_status,
)
from postino.values.job import State

NOON = datetime(2026, 12, 24, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
WAITING = PostSnapshot(state=State.PENDING, scheduled_at=NOON, run_at=NOON, max_attempts=3)


def flags(facts: PostSnapshot, now: datetime = NOON) -> set[Flag]:
    return set(compute_post_status(facts, now).flags)


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("pending", "scheduled"),
        ("running", "publishing"),
        ("completed", "published"),
        ("failed", "failed"),
        ("cancelled", "cancelled"),
        ("uncertain", "uncertain"),
    ],
)
def test_every_job_state_has_a_post_status(state: str, status: str) -> None:
    assert compute_post_status(replace(WAITING, state=State(state)), NOON).status == PostStatus(status)
    assert set(STATUS) == set(State)


def test_a_post_that_waits_for_its_time_has_no_flag() -> None:
    assert flags(WAITING, NOON - MINUTE) == set()
    assert flags(WAITING, NOON) == set()


@pytest.mark.parametrize(
    ("state", "attempts", "retrying"),
    [
        (State.PENDING, 0, None),
        (State.PENDING, 1, "One attempt has failed."),
        (State.PENDING, 2, "2 attempts have failed."),
        (State.RUNNING, 1, None),
        (State.RUNNING, 2, "One attempt has failed."),
        (State.COMPLETED, 2, None),
        (State.FAILED, 3, None),
        (State.CANCELLED, 1, None),
        (State.UNCERTAIN, 2, None),
    ],
)
def test_a_post_with_failed_attempts_is_flagged_retrying(state: State, attempts: int, retrying: str | None) -> None:
    facts = replace(WAITING, state=state, attempts=attempts)
    assert compute_post_status(facts, NOON).flags.get(Flag.RETRYING) == retrying


@pytest.mark.parametrize("state", State)
def test_only_a_pending_post_is_flagged_deferred_with_the_reason(state: State) -> None:
    facts = replace(WAITING, state=state, deferral_reason="Mastodon is down.")
    expected = "Mastodon is down." if state is State.PENDING else None
    assert compute_post_status(facts, NOON).flags.get(Flag.DEFERRED) == expected


@pytest.mark.parametrize("state", State)
def test_a_post_is_flagged_late_after_some_minutes(state: State) -> None:
    facts = replace(WAITING, state=state)
    assert Flag.LATE not in flags(facts, NOON + LATE_AFTER)
    late = flags(facts, NOON + LATE_AFTER + MINUTE) == {Flag.LATE}
    assert late == (state in (State.PENDING, State.RUNNING))


def test_a_post_published_late_stays_late_and_one_on_time_never_is() -> None:
    published = replace(WAITING, state=State.COMPLETED)
    late = compute_post_status(replace(published, published_at=NOON + 6 * MINUTE), NOON)
    assert late.flags == {Flag.LATE: "It went out 6 minutes late."}
    assert flags(replace(published, published_at=NOON + LATE_AFTER), NOON + timedelta(days=9)) == set()


def test_a_long_delay_is_shown_in_hours() -> None:
    assert (
        compute_post_status(WAITING, NOON + timedelta(hours=25, minutes=3)).flags[Flag.LATE] == "It is 25 h 3 min late."
    )


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        (replace(WAITING, token_expired=True), "reconnect"),
        (replace(WAITING, publish_until_at=NOON), "publish_until"),
        (replace(WAITING, publish_until_at=NOON - MINUTE), "publish_until"),
        (replace(WAITING, publish_until_at=NOON + MINUTE), None),
        (replace(WAITING, attempts=1), None),
        (replace(WAITING, attempts=2), "the last one"),
        (replace(WAITING, attempts=0, max_attempts=1), None),
        (replace(WAITING, attempts=2, max_attempts=None), None),
    ],
)
def test_a_pending_post_that_may_not_be_published_is_flagged_at_risk(facts: PostSnapshot, text: str | None) -> None:
    why = compute_post_status(facts, NOON).flags.get(Flag.AT_RISK)
    assert (why is None) if text is None else (why is not None and text in why)
    for state in set(State) - {State.PENDING}:
        assert Flag.AT_RISK not in flags(replace(facts, state=state))


def list_status_sets() -> list[set[PostStatus]]:
    return [set(some) for size in range(7) for some in itertools.combinations(PostStatus, size)]


def name_expected_status(statuses: set[PostStatus]) -> str:
    """Return the expected status of a content: for each status the condition that it needs."""
    counted = {str(status) for status in statuses} - {"cancelled"}
    names = {
        "draft": not statuses,
        "cancelled": bool(statuses) and not counted,
        "uncertain": "uncertain" in counted,
        "publishing": "publishing" in counted and "uncertain" not in counted,
        "published": counted == {"published"},
        "partially_published": counted
        in ({"published", "failed"}, {"published", "scheduled"}, {"published", "failed", "scheduled"}),
        "failed": counted in ({"failed"}, {"failed", "scheduled"}),
        "scheduled": counted == {"scheduled"},
    }
    (name,) = [name for name, fits in names.items() if fits]
    return name


@pytest.mark.parametrize("statuses", list_status_sets(), ids=lambda statuses: "+".join(sorted(statuses)) or "none")
def test_the_status_of_a_content_follows_from_its_posts(statuses: set[PostStatus]) -> None:
    assert compute_content_status(statuses) == name_expected_status(statuses)


def test_number_and_order_of_posts_do_not_change_the_content_status() -> None:
    for posts in itertools.product(PostStatus, repeat=3):
        assert (
            compute_content_status(posts)
            == compute_content_status(set(posts))
            == compute_content_status(reversed(posts * 2))
        )


def test_every_content_status_can_be_reached() -> None:
    assert {compute_content_status(statuses) for statuses in list_status_sets()} == set(ContentStatus)
