"""Lane hints: rows that say "this lane may be due earlier or later". Claims apply them.

Triggers on jobs insert them, whatever changes a job; gates hint at the lanes of their account or brand here.
"""

from collections.abc import Sequence

from postino.rules.claim_order import ClaimSource
from postino.stores.operations.claim_state import ClaimState
from postino.stores.statement import Operation, Row, ask, each
from postino.values.gate import Scope
from postino.values.job import Queue


def read_hints() -> Operation[Sequence[Row]]:
    """Take all hints and return the locked lanes they point to."""
    yield ask("lock_hints_shared")
    yield ask("insert_hinted_lanes")
    lanes = yield ask("lock_hinted_lanes")
    yield each("delete_hints", lanes)
    return lanes


def apply_hints(state: ClaimState, lanes: Sequence[Row]) -> Operation[list[ClaimSource]]:
    """Compute when each of these lanes is next due; return that of each queue and of each type of the worker."""
    updated = yield each("update_lane_due", lanes, **state.make_lane_params())
    types = state.request.poll.types
    return [
        ClaimSource(row["channel"], Queue(row["queue"]), row["due_at"], lanes=True, types=(row["type"],))
        for row in updated
        if row["type"] in types
    ]


def hint_lanes(scope: Scope, name: str) -> Operation[None]:
    """Hint at the lanes of an account or a brand, whose due times depend on its gates."""
    if scope in (Scope.ACCOUNT, Scope.BRAND):
        yield ask("insert_hints", scope=scope, name=name)
