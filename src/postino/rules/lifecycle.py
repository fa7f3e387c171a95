"""The legal moves between job states. Everything that changes a state checks here."""

from postino.values.job import State

MOVES: dict[State, frozenset[State]] = {
    State.PENDING: frozenset({State.RUNNING, State.UNCERTAIN, State.CANCELLED, State.FAILED}),
    State.RUNNING: frozenset({State.COMPLETED, State.PENDING, State.UNCERTAIN, State.FAILED, State.CANCELLED}),
    State.UNCERTAIN: frozenset({State.RUNNING, State.COMPLETED, State.PENDING, State.FAILED}),  # lookup, or a person
    State.FAILED: frozenset({State.PENDING}),  # replay, by hand only
    State.COMPLETED: frozenset(),
    State.CANCELLED: frozenset(),
}


def can_move(current: State, target: State) -> bool:
    """Return whether a job may move from one state to another."""
    return target in MOVES[current]
