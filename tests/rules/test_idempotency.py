"""The key of a job: equal for equal words, different for any other."""

from __future__ import annotations

import hashlib
import itertools

from postino.rules.idempotency import job_key

PAIRS = [
    ("k", None), ("k", "a"), ("ka", None), ("", "ka"), ("", "k"), ("a", "k"), ("K", "a"), ("k", "à"), ("k ", "a"),
    ("k\x00", "a"), ("k", "\x00a"),
]  # fmt: skip


def test_no_two_pairs_run_together_into_one_key() -> None:
    for one, other in itertools.combinations(PAIRS, 2):
        assert job_key(*one) != job_key(*other), (one, other)


def test_a_key_is_the_same_for_ever() -> None:
    expected = hashlib.sha256(b"\0\0\0\0\0\0\0\x05order\0\0\0\0\0\0\0\x04acme").hexdigest()
    assert job_key("order", "acme") == expected


def test_a_key_without_an_account_is_that_of_the_empty_account() -> None:
    assert job_key("order", None) == job_key("order", "")
