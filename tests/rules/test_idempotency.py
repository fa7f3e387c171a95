"""Idempotency keys: equal for equal input, different for any other."""

from __future__ import annotations

import hashlib
import itertools
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from postino.rules.idempotency import (
    has_moved_with_clock,
    hash_caption,
    hash_media,
    make_child_key,
    make_content_key,
    make_fingerprint,
    make_job_key,
    make_plan_key,
)
from postino.values.content import Content, ContentOverride, MediaRef

PAIRS = [
    ("k", None), ("k", "a"), ("ka", None), ("", "ka"), ("", "k"), ("a", "k"), ("K", "a"), ("k", "à"), ("k ", "a"),
    ("k\x00", "a"), ("k", "\x00a"),
]  # fmt: skip

# Few letters, so that Hypothesis finds texts that would collide if they were only concatenated.
TEXTS = st.text(alphabet="ab1:\0", max_size=4)
LISTS = st.lists(TEXTS, max_size=4)
INSTANTS = st.datetimes(min_value=datetime(2025, 1, 1), max_value=datetime(2040, 1, 1))  # noqa: DTZ001 - made aware
PLANS = st.fixed_dictionaries(
    {
        "brand": TEXTS,
        "channel": TEXTS,
        "account": TEXTS,
        "scheduled_at": INSTANTS.map(lambda at: at.replace(tzinfo=UTC)),
        "media_hash": TEXTS,
        "caption_hash": TEXTS,
    }
)
CAPTIONS = st.fixed_dictionaries(
    {
        "text": TEXTS,
        "placeholders": st.dictionaries(TEXTS, TEXTS, max_size=3),
        "thread": LISTS,
        "title": TEXTS,
        "hashtags": LISTS,
    }
)
NOON = datetime(2026, 12, 24, 12, tzinfo=UTC)


def test_different_pairs_have_different_keys() -> None:
    for one, other in itertools.combinations(PAIRS, 2):
        assert make_job_key(*one) != make_job_key(*other), (one, other)


def hash_parts(*parts: str) -> str:
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part.encode() for part in parts)).hexdigest()


def test_a_job_key_without_account_belongs_to_its_brand() -> None:
    """No brand finds out which keys another brand uses; an account has only one brand."""
    keys = [make_job_key("order", None, brand) for brand in (None, "acme", "other")]
    assert len({*keys}) == 3
    assert make_job_key("order", "acme", "other") == make_job_key("order", "acme")
    assert make_job_key("order", None, "acme") != make_job_key("order", "acme")


def test_a_job_key_never_changes() -> None:
    expected = hashlib.sha256(b"\0\0\0\0\0\0\0\x05order\0\0\0\0\0\0\0\x04acme").hexdigest()
    assert make_job_key("order", "acme") == expected


def test_no_account_and_an_empty_account_have_the_same_key() -> None:
    assert make_job_key("order", None) == make_job_key("order", "")


def test_a_plan_key_never_changes() -> None:
    key = make_plan_key(brand="acme", channel="x", account="a-1", scheduled_at=NOON, media_hash="m", caption_hash="c")
    assert key == hash_parts("acme", "x", "a-1", "2026-12-24T12:00:00.000000+00:00", "m", "c")


def test_caption_and_media_hashes_never_change() -> None:
    assert hash_media(["m", "n"]) == hash_parts("2", "m", "n")
    assert hash_caption("Ciao {{name}}", {"name": "Ada"}) == hash_parts(
        "Ciao {{name}}", "2", "name", "Ada", "0", "", "0"
    )
    assert make_fingerprint("a", ("b", "c"), ["d"]) == hash_parts("a", "2", "b", "c", "1", "d")


@given(PLANS, PLANS)
def test_different_plans_have_different_keys(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert (make_plan_key(**one) == make_plan_key(**other)) == (one == other)


@given(PLANS, st.sampled_from(["brand", "channel", "account", "media_hash", "caption_hash"]), TEXTS)
def test_every_field_of_a_plan_changes_its_key(plan: dict[str, Any], part: str, value: str) -> None:
    assume(plan[part] != value)
    assert make_plan_key(**plan) != make_plan_key(**plan | {part: value})


@given(PLANS, st.permutations(["brand", "channel", "account", "media_hash", "caption_hash"]))
def test_values_in_swapped_fields_change_the_plan_key(plan: dict[str, Any], order: list[str]) -> None:
    moved = plan | {name: plan[place] for name, place in zip(sorted(order), order, strict=True)}
    assert (make_plan_key(**plan) == make_plan_key(**moved)) == (plan == moved)


@given(PLANS, st.integers(-14 * 60, 14 * 60))
def test_a_plan_key_does_not_depend_on_the_time_zone(plan: dict[str, Any], minutes: int) -> None:
    elsewhere = plan["scheduled_at"].astimezone(timezone(timedelta(minutes=minutes)))
    assert make_plan_key(**plan) == make_plan_key(**plan | {"scheduled_at": elsewhere})


def test_a_plan_without_a_time_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        key(Content(body="a"), scheduled_at=NOON.replace(tzinfo=None))


@given(TEXTS, TEXTS, PLANS)
def test_a_job_key_never_equals_a_plan_key(caller_key: str, account: str, plan: dict[str, Any]) -> None:
    assert make_job_key(caller_key, account) != make_plan_key(**plan)


@given(CAPTIONS, CAPTIONS)
def test_different_captions_have_different_hashes(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert (hash_caption(**one) == hash_caption(**other)) == (one == other)


@given(CAPTIONS)
def test_the_order_of_placeholders_does_not_change_the_hash(caption: dict[str, Any]) -> None:
    turned = dict(reversed(caption["placeholders"].items()))
    assert hash_caption(**caption) == hash_caption(**caption | {"placeholders": turned})


@given(LISTS, LISTS)
def test_different_media_have_different_hashes(one: list[str], other: list[str]) -> None:
    assert (hash_media(one) == hash_media(other)) == (one == other)


@given(st.tuples(TEXTS, LISTS.map(tuple), LISTS), st.tuples(TEXTS, LISTS.map(tuple), LISTS))
def test_different_parts_have_different_fingerprints(one: Any, other: Any) -> None:
    assert (make_fingerprint(*one) == make_fingerprint(*other)) == (one == other)


def key(content: Content, **changed: Any) -> str:
    plan: dict[str, Any] = {"brand": "acme", "channel": "mastodon", "account": "a", "scheduled_at": NOON}
    return make_content_key(content, **plan | changed)


BODY = Content(body="Ciao {{name}}", placeholders={"name": "Ada"})


@pytest.mark.parametrize(
    "same",
    [
        Content(body="Ciao {{name}}", placeholders={"name": "Ada", "unused": "x"}),
        Content(
            body="elsewhere",
            placeholders={"name": "Ada"},
            overrides={"mastodon": ContentOverride(body="Ciao {{name}}")},
        ),
        Content(body="Ciao {{name}}", placeholders={"name": "Ada"}, overrides={"x": ContentOverride(body="other")}),
    ],
)
def test_a_content_key_depends_only_on_what_the_channel_publishes(same: Content) -> None:
    assert key(same) == key(BODY)


@pytest.mark.parametrize(
    "other",
    [
        Content(body="Ciao {{name}}", placeholders={"name": "Bob"}),
        Content(body="Ciao Ada", placeholders={"name": "Ada"}),
        Content(body="Ciao {{name}}", placeholders={"name": "Ada"}, thread=("more",)),
        Content(body="Ciao {{name}}", placeholders={"name": "Ada"}, title="more"),
        Content(body="Ciao {{name}}", placeholders={"name": "Ada"}, hashtags=("more",)),
        Content(body="Ciao {{name}}", placeholders={"name": "Ada"}, media=(MediaRef(url="http://a.example/1.png"),)),
        Content(
            body="Ciao {{name}}", placeholders={"name": "Ada"}, overrides={"mastodon": ContentOverride(body="other")}
        ),
    ],
)
def test_any_change_of_the_published_content_changes_the_key(other: Content) -> None:
    assert key(other) != key(BODY)


def test_an_image_with_a_checksum_keeps_its_key_at_another_url() -> None:
    moved = [Content(media=(MediaRef(url=f"http://{host}.example/1.png", checksum="abc"),)) for host in "ab"]
    assert key(moved[0]) == key(moved[1])


def test_each_account_brand_channel_and_time_has_its_own_key() -> None:
    changes: list[dict[str, Any]] = [
        {}, {"account": "b"}, {"brand": None}, {"channel": "x"}, {"scheduled_at": NOON + timedelta(microseconds=1)},
    ]  # fmt: skip
    assert len({key(BODY, **changed) for changed in changes}) == len(changes)


def test_child_key_ignores_spaces_and_the_order_of_names_and_nothing_else() -> None:
    parent, other = UUID(int=1), UUID(int=2)
    same = [b'{"a": 1, "b": [2, 3]}', b'{"b":[2,3],"a":1}']
    assert len({make_child_key(parent, "mail", payload, None) for payload in same}) == 1
    different = [
        (parent, "mail", same[0], None), (other, "mail", same[0], None), (parent, "count", same[0], None),
        (parent, "mail", same[0], "ada"), (parent, "mail", b'{"a": 1, "b": [3, 2]}', None), (parent, "mail", b"", None),
        (parent, "mail", b"\xff", None), (parent, "mail", b'"ff"', None),
    ]  # fmt: skip
    assert len({make_child_key(*parts) for parts in different}) == len(different)


@pytest.mark.parametrize(
    ("moved", "same"),
    [
        (timedelta(minutes=10), True),  # the handler computed the time from the clock in both runs
        (timedelta(minutes=10, seconds=30), True),  # the former run read the clock half a minute before it enqueued
        (timedelta(minutes=9, seconds=50), True),  # this run read the clock at its start
        (timedelta(0), False),
        (timedelta(hours=1), False),
        (timedelta(days=1), False),
        (-timedelta(hours=1), False),
    ],
)
def test_time_of_a_child_moves_with_the_clock(moved: timedelta, same: bool) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    enqueued_at, started_at = now - timedelta(minutes=10), now - timedelta(seconds=20)
    existing = now + timedelta(days=3)
    assert same is has_moved_with_clock(
        existing + moved, existing, enqueued_at=enqueued_at, started_at=started_at, now=now
    )
