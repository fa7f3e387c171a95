"""Ids: unique everywhere, ordered where they are made."""

import time

from postino.job import new_id


def test_ids_are_version_7_and_sort_in_the_order_they_were_made() -> None:
    ids = [new_id() for _ in range(10_000)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 10_000
    assert {(made.version, made.variant) for made in ids} == {(7, ids[0].variant)}


def test_an_id_tells_the_millisecond_it_was_made() -> None:
    before = time.time_ns() // 1_000_000
    made = new_id().int >> 80
    assert before <= made <= time.time_ns() // 1_000_000 + 1
