"""Taking jobs: one transaction, one winner, closed gates left alone."""

from collections.abc import Sequence
from datetime import datetime

from postino.rules.claim_order import Head
from postino.stores.operations.claim_state import ClaimState
from postino.stores.statement import Operation, Row, ask, each
from postino.values.gate import Scope
from postino.values.job import Queue


def read_hints() -> Operation[Sequence[Row]]:
    """Takes the notes saying "look at this lane again", and the lanes they tell of."""
    yield ask("lock_hints_shared")
    yield ask("insert_hinted_lanes")
    lanes = yield ask("lock_hinted_lanes")
    yield each("delete_hints", lanes)
    return lanes


def fold_hints(taking: ClaimState, lanes: Sequence[Row]) -> Operation[list[Head]]:
    """Finds out when each of these lanes is next due."""
    armed = yield each("update_lane_due", lanes, **taking.shut())
    first: dict[tuple[str, Queue], datetime] = {}
    for row in armed:
        line = row["channel"], Queue(row["queue"])
        first[line] = min(row["due_at"], first.get(line, row["due_at"]))
    return [Head(channel, queue, due_at, lanes=True) for (channel, queue), due_at in first.items()]


def hint_lanes(scope: Scope, name: str) -> Operation[None]:
    """What is closed to accounts and brands is in the times of their lanes."""
    if scope in (Scope.ACCOUNT, Scope.BRAND):
        yield ask("insert_hints", scope=scope, name=name)
