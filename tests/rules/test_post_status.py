"""How posts and contents stand, as told to people."""

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
def test_every_state_has_its_status(state: str, status: str) -> None:
    assert compute_post_status(replace(WAITING, state=State(state)), NOON).status == PostStatus(status)
    assert set(STATUS) == set(State)


def test_a_post_that_waits_for_its_time_has_nothing_to_say() -> None:
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
def test_retrying_is_what_has_failed_and_will_be_tried_again(state: State, attempts: int, retrying: str | None) -> None:
    facts = replace(WAITING, state=state, attempts=attempts)
    assert compute_post_status(facts, NOON).flags.get(Flag.RETRYING) == retrying


@pytest.mark.parametrize("state", State)
def test_deferred_is_only_what_waits_and_it_says_why(state: State) -> None:
    facts = replace(WAITING, state=state, deferral_reason="Mastodon is down.")
    expected = "Mastodon is down." if state is State.PENDING else None
    assert compute_post_status(facts, NOON).flags.get(Flag.DEFERRED) == expected


@pytest.mark.parametrize("state", State)
def test_late_is_what_should_have_gone_out_some_minutes_ago(state: State) -> None:
    facts = replace(WAITING, state=state)
    assert Flag.LATE not in flags(facts, NOON + LATE_AFTER)
    late = flags(facts, NOON + LATE_AFTER + MINUTE) == {Flag.LATE}
    assert late == (state in (State.PENDING, State.RUNNING))


def test_what_went_out_late_stays_late_and_what_was_on_time_never_is() -> None:
    published = replace(WAITING, state=State.COMPLETED)
    late = compute_post_status(replace(published, published_at=NOON + 6 * MINUTE), NOON)
    assert late.flags == {Flag.LATE: "It went out 6 minutes late."}
    assert flags(replace(published, published_at=NOON + LATE_AFTER), NOON + timedelta(days=9)) == set()


def test_lateness_is_told_in_hours_when_it_has_come_to_that() -> None:
    assert (
        compute_post_status(WAITING, NOON + timedelta(hours=25, minutes=3)).flags[Flag.LATE] == "It is 25 h 3 min late."
    )


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (replace(WAITING, token_expired=True), "reconnect"),
        (replace(WAITING, publish_until_at=NOON), "missed"),
        (replace(WAITING, publish_until_at=NOON - MINUTE), "missed"),
        (replace(WAITING, publish_until_at=NOON + MINUTE), None),
        (replace(WAITING, attempts=1), None),
        (replace(WAITING, attempts=2), "last attempt"),
        (replace(WAITING, attempts=0, max_attempts=1), None),
        (replace(WAITING, attempts=2, max_attempts=None), None),
    ],
)
def test_at_risk_is_what_will_not_go_out_unless_something_changes(facts: PostSnapshot, said: str | None) -> None:
    why = compute_post_status(facts, NOON).flags.get(Flag.AT_RISK)
    assert (why is None) if said is None else (why is not None and said in why)
    for state in set(State) - {State.PENDING}:
        assert Flag.AT_RISK not in flags(replace(facts, state=state))


def sets_of_statuses() -> list[set[PostStatus]]:
    return [set(some) for size in range(7) for some in itertools.combinations(PostStatus, size)]


def expected(there: set[PostStatus]) -> str:
    """The table once more, from the other side: what must be true of a content that is called so."""
    counted = {str(status) for status in there} - {"cancelled"}
    names = {
        "draft": not there,
        "cancelled": bool(there) and not counted,
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


@pytest.mark.parametrize("there", sets_of_statuses(), ids=lambda there: "+".join(sorted(there)) or "none")
def test_a_content_stands_as_its_posts_do(there: set[PostStatus]) -> None:
    assert compute_content_status(there) == expected(there)


def test_how_many_posts_there_are_and_in_which_order_does_not_matter() -> None:
    for posts in itertools.product(PostStatus, repeat=3):
        assert (
            compute_content_status(posts)
            == compute_content_status(set(posts))
            == compute_content_status(reversed(posts * 2))
        )


def test_every_status_of_a_content_can_be_reached() -> None:
    assert {compute_content_status(there) for there in sets_of_statuses()} == set(ContentStatus)
