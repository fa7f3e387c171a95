"""The jobs that a new blackout moves, and those that it does not."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID

import pytest

from postino.rules.blackout import Blackout
from postino.rules.blackout_impact import AHEAD, compute_impact
from postino.values.gate import Scope
from postino.values.job import Job, Queue, State

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)  # a Monday


def blackout(start: int, end: int, scope: Scope = Scope.ALL, name: str = "", **more: Any) -> Blackout:
    number = UUID(int=start * 100 + end)
    return Blackout(id=number, scope=scope, name=name, start=time(start), end=time(end), timezone="UTC", **more)


def job(run_at: datetime, **more: Any) -> Job:
    fields: dict[str, Any] = {
        "id": UUID(int=1), "type": "t", "channel": "bluesky", "queue": Queue.DEFAULT, "state": State.PENDING,
        "payload": b"", "idempotency_key": "k", "scheduled_at": run_at, "run_at": run_at, "created_at": NOW,
        "account": "a", "brand": "b",
    }  # fmt: skip
    return Job(**{**fields, **more})


def at(hour: int, day: int = 2) -> datetime:
    return datetime(2026, 3, day, hour, tzinfo=UTC)


@pytest.mark.parametrize(
    ("run_at", "others", "added", "moves"),
    [
        (at(23), [], blackout(22, 7), (at(23), at(7, 3))),
        (at(7, 3), [], blackout(22, 7), None),
        (at(21), [], blackout(22, 7), None),
        (at(23), [blackout(7, 9)], blackout(22, 7), (at(23), at(9, 3))),
        (at(23), [blackout(20, 8)], blackout(22, 7), None),
        (at(21), [blackout(20, 22)], blackout(22, 7), (at(22), at(7, 3))),  # it had moved into the new blackout
        (at(9), [], blackout(11, 14), (NOW, at(14))),  # overdue is now
        (at(23), [], blackout(22, 22), (at(23), None)),
        (at(23), [blackout(1, 1)], blackout(22, 7), None),  # it had no time before
        (NOW + AHEAD + timedelta(hours=11), [], blackout(22, 7), None),
    ],
)
def test_a_job_moves_to_the_first_time_outside_all_blackouts(
    run_at: datetime, others: list[Blackout], added: Blackout, moves: tuple[datetime, datetime | None] | None
) -> None:
    shift = compute_impact(job(run_at), others, added, NOW)
    assert (None if shift is None else (shift.goes_at, shift.moves_to)) == moves


@pytest.mark.parametrize(
    "fields",
    [{"may_be_live": True}, {"ignore_blackouts": True}, {"state": State.RUNNING}, {"state": State.UNCERTAIN}],
)
def test_a_job_that_ignores_blackouts_does_not_move(fields: dict[str, Any]) -> None:
    assert compute_impact(job(at(23)), [], blackout(22, 7), NOW) is not None
    assert compute_impact(job(at(23), **fields), [], blackout(22, 7), NOW) is None


@pytest.mark.parametrize(("scope", "name"), [(Scope.CHANNEL, "bluesky"), (Scope.BRAND, "b"), (Scope.ACCOUNT, "a")])
def test_only_blackouts_in_the_scope_of_a_job_move_it(scope: Scope, name: str) -> None:
    assert compute_impact(job(at(23)), [], blackout(22, 7, scope, f"not {name}"), NOW) is None
    of_another = blackout(6, 9, scope, f"not {name}")
    shift = compute_impact(job(at(23)), [of_another], blackout(22, 7, scope, name), NOW)
    assert shift is not None
    assert shift.moves_to == at(7, 3)
