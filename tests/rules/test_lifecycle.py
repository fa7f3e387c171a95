"""The legal moves between job states, as a table."""

from __future__ import annotations

import itertools

import pytest

from postino.rules.lifecycle import MOVES, can_move
from postino.values.job import State

LEGAL = {
    ("pending", "running"), ("pending", "uncertain"), ("pending", "cancelled"), ("pending", "failed"),
    ("running", "completed"), ("running", "pending"), ("running", "uncertain"), ("running", "failed"),
    ("running", "cancelled"),
    ("uncertain", "running"), ("uncertain", "completed"), ("uncertain", "pending"), ("uncertain", "failed"),
    ("failed", "pending"),
}  # fmt: skip


@pytest.mark.parametrize(("current", "target"), list(itertools.product(State, State)))
def test_a_job_makes_only_legal_moves(current: State, target: State) -> None:
    assert can_move(current, target) == ((current.value, target.value) in LEGAL)


def test_the_table_of_moves_has_every_state() -> None:
    assert set(MOVES) == set(State)


@pytest.mark.parametrize("state", State)
def test_a_state_is_final_when_only_a_person_can_leave_it(state: State) -> None:
    assert state.is_final == (state in (State.COMPLETED, State.FAILED, State.CANCELLED))
    assert state.is_final == (MOVES[state] <= {State.PENDING} and state is not State.PENDING)
