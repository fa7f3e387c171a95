"""Lane hints: rows that say "this lane may be due earlier or later". Writers insert them; claims fold them."""

from collections.abc import Sequence
from datetime import datetime

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


def fold_hints(state: ClaimState, lanes: Sequence[Row]) -> Operation[list[ClaimSource]]:
    """Compute when each of these lanes is next due; return the first due time of each line."""
    updated = yield each("update_lane_due", lanes, **state.make_lane_params())
    first: dict[tuple[str, Queue], datetime] = {}
    for row in updated:
        line = row["channel"], Queue(row["queue"])
        first[line] = min(row["due_at"], first.get(line, row["due_at"]))
    return [ClaimSource(channel, queue, due_at, lanes=True) for (channel, queue), due_at in first.items()]


def hint_lanes(scope: Scope, name: str) -> Operation[None]:
    """Hint at the lanes of an account or a brand, whose due times depend on its gates."""
    if scope in (Scope.ACCOUNT, Scope.BRAND):
        yield ask("insert_hints", scope=scope, name=name)
