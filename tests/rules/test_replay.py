"""Whether a dead letter may be replayed unchanged, as a table."""

from __future__ import annotations

import itertools

import pytest

from postino.rules.replay import find_replay_objection
from postino.rules.settlement import DeadLetterCause

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
