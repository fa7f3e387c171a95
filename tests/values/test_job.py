"""Ids, unique everywhere and ordered where they are made; and values made without their constructor."""

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


def test_an_id_tells_the_millisecond_it_was_made() -> None:
    before = time.time_ns() // 1_000_000
    made = new_id().int >> 80
    assert before <= made <= time.time_ns() // 1_000_000 + 1


def test_a_drafted_job_is_a_job_like_any_other() -> None:
    now = datetime.now(UTC)
    asked = {
        "id": new_id(), "type": "t", "channel": "c", "queue": Queue.LOW, "state": State.PENDING, "payload": b"",
        "idempotency_key": "k", "scheduled_at": now, "run_at": now, "created_at": now, "brand": "b",
    }  # fmt: skip
    drafted, made = make_job(**asked), Job(**asked)  # type: ignore[arg-type]
    assert type(drafted) is Job
    assert (drafted, hash(drafted), repr(drafted)) == (made, hash(made), repr(made))
    assert make_job(*asked.values()).brand is None  # by position the eleventh is the account
    assert replace(drafted, brand=None).brand is None
    with pytest.raises(FrozenInstanceError):
        drafted.type = "another"  # type: ignore[misc]
