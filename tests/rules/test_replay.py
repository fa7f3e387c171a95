"""Whether a dead letter may be replayed unchanged, as a table."""

from __future__ import annotations

import itertools

import pytest

from postino.rules.replay import find_payload_objection, find_replay_objection
from postino.rules.settlement import DeadLetterCause
from postino.values.job import new_id
from postino.values.post import POST

MUST_CHANGE = {DeadLetterCause.PERMANENT, DeadLetterCause.POISON, DeadLetterCause.GIVEN_UP}


@pytest.mark.parametrize(
    ("cause", "edited", "force"), list(itertools.product(DeadLetterCause, [False, True], [False, True]))
)
def test_a_permanent_failure_needs_an_edit_or_force_to_be_replayed(
    cause: DeadLetterCause, edited: bool, force: bool
) -> None:
    refusal = find_replay_objection(cause, edited=edited, force=force)
    assert (refusal is not None) == (cause in MUST_CHANGE and not edited and not force)


@pytest.mark.parametrize("cause", sorted(MUST_CHANGE))
def test_a_refusal_says_what_to_do(cause: DeadLetterCause) -> None:
    refusal = find_replay_objection(cause, edited=False, force=False)
    assert refusal is not None
    assert refusal.endswith("Edit its payload, or force the replay.")


@pytest.mark.parametrize("cause", sorted(MUST_CHANGE))
def test_a_refusal_for_a_post_does_not_advise_another_payload(cause: DeadLetterCause) -> None:
    refusal = find_replay_objection(cause, edited=False, force=False, is_post=True)
    assert refusal is not None
    assert refusal.endswith("Set `force` if the cause is gone, or create a new post.")


def test_only_the_payload_of_a_post_cannot_be_replaced() -> None:
    job_id = new_id()
    assert find_payload_objection("export", job_id) is None
    assert f"PATCH /v1/posts/{job_id}" in (find_payload_objection(POST, job_id) or "")
