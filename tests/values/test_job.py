"""Job ids, which are unique and ordered, and jobs made without their constructor."""

import time
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime

import pytest

from postino.values.job import Job, Queue, State, make_job, new_id, new_ids


def test_ids_are_version_7_and_sort_in_the_order_they_were_made() -> None:
    ids = [new_id() for _ in range(5_000)] + new_ids(10_000) + [new_id() for _ in range(5_000)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 20_000
    assert {(made.version, made.variant) for made in ids} == {(7, ids[0].variant)}


def test_an_id_contains_the_millisecond_of_its_creation() -> None:
    before = time.time_ns() // 1_000_000
    made = new_id().int >> 80
    assert before <= made <= time.time_ns() // 1_000_000 + 1


def test_make_job_equals_the_constructor() -> None:
    now = datetime.now(UTC)
    fields = {
        "id": new_id(), "type": "t", "channel": "c", "queue": Queue.LOW, "state": State.PENDING, "payload": b"",
        "idempotency_key": "k", "scheduled_at": now, "run_at": now, "created_at": now, "brand": "b",
    }  # fmt: skip
    drafted, made = make_job(**fields), Job(**fields)  # type: ignore[arg-type]
    assert type(drafted) is Job
    assert (drafted, hash(drafted), repr(drafted)) == (made, hash(made), repr(made))
    assert make_job(*fields.values()).brand is None  # the eleventh position is the account
    assert replace(drafted, brand=None).brand is None
    with pytest.raises(FrozenInstanceError):
        drafted.type = "another"  # type: ignore[misc]
