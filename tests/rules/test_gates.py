"""Which gates are closed, as a table."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from postino.rules.gates import Closed, Gate, Scope, closed

PAUSED_AT = datetime(2026, 3, 29, tzinfo=UTC)


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        ([], Closed()),
        ([Gate(Scope.QUEUE, "low", PAUSED_AT)], Closed(queues=frozenset({"low"}))),
        ([Gate(Scope.CHANNEL, "x", PAUSED_AT)], Closed(channels=frozenset({"x"}))),
        ([Gate(Scope.BRAND, "shoes", PAUSED_AT)], Closed(brands=frozenset({"shoes"}))),
        ([Gate(Scope.ACCOUNT, "acme", PAUSED_AT)], Closed(accounts=frozenset({"acme"}))),
        ([Gate(Scope.CHANNEL, "x"), Gate(Scope.BRAND, "shoes", reason="was paused")], Closed()),
        ([Gate(Scope.CHANNEL, "x", cap=3)], Closed(caps={"x": 3})),
        ([Gate(Scope.CHANNEL, "x", cap=0)], Closed(caps={"x": 0})),
        ([Gate(Scope.CHANNEL, "x", PAUSED_AT, cap=3)], Closed(channels=frozenset({"x"}), caps={"x": 3})),
        ([Gate(Scope.BRAND, "shoes", cap=3)], Closed()),
        (
            [Gate(Scope.BRAND, "a", PAUSED_AT), Gate(Scope.BRAND, "b", PAUSED_AT), Gate(Scope.QUEUE, "a", PAUSED_AT)],
            Closed(queues=frozenset({"a"}), brands=frozenset({"a", "b"})),
        ),
    ],
)
def test_paused_gates_are_closed_and_caps_are_kept(gates: list[Gate], expected: Closed) -> None:
    assert closed(gates) == expected
