"""Record keys, and links, mentions and tags by their byte offsets."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.providers.atproto import DAY_MICROSECONDS, TID_ALPHABET, build_embed, derive_record_key, find_spans
from postino.values.job import new_id, new_ids

TID = re.compile(r"[234567abcdefghij][234567abcdefghijklmnopqrstuvwxyz]{12}")
A_POST = UUID("019a8b3c-4d5e-7f60-8123-456789abcdef")


def microseconds(key: str) -> int:
    value = 0
    for letter in key:
        value = value << 5 | TID_ALPHABET.index(letter)
    return value >> 10


@given(st.uuids(), st.integers(1, 100))
def test_every_part_of_a_post_has_a_valid_record_key(post: UUID, part: int) -> None:
    assert TID.fullmatch(derive_record_key(post, part))


def test_record_key_never_changes() -> None:
    assert [derive_record_key(A_POST, part) for part in (1, 2)] == ["3m5og42jobw23", "3m5npkjidflxk"]


def test_posts_created_together_have_different_keys() -> None:
    ids = new_ids(20_000)
    assert len({derive_record_key(post, part) for post in ids for part in (1, 2, 3)}) == 60_000


def test_record_key_is_a_timestamp_of_the_day_before() -> None:
    post = new_id()
    made = (post.int >> 80) * 1000
    assert all(made - DAY_MICROSECONDS < microseconds(derive_record_key(post, part)) <= made for part in range(1, 100))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", []),
        ("see https://example.com.", [("link", "https://example.com", "https://example.com")]),
        ("(https://example.com/a_(b))", [("link", "https://example.com/a_(b)", "https://example.com/a_(b)")]),
        ("HTTP://Example.com/x, y", [("link", "HTTP://Example.com/x", "HTTP://Example.com/x")]),
        ("http://a.de/#top", [("link", "http://a.de/#top", "http://a.de/#top")]),
        ("http://a.de/@b.test", [("link", "http://a.de/@b.test", "http://a.de/@b.test")]),
        ("@Alice.bsky.social!", [("mention", "alice.bsky.social", "@Alice.bsky.social")]),
        ("mail me@alice.test", []),
        ("@alice", []),
        ("#one #zwölf #3 ##x #a-b", [("tag", "one", "#one"), ("tag", "zwölf", "#zwölf"), ("tag", "x", "#x"),
                                      ("tag", "a-b", "#a-b")]),
        ("#a, #b. (#c)", [("tag", "a", "#a"), ("tag", "b", "#b"), ("tag", "c", "#c")]),
        ("no#tag", []),
        ("#" + "x" * 65, []),
        ("👩‍👧 ü #ü", [("tag", "ü", "#ü")]),
    ],
)  # fmt: skip
def test_links_mentions_and_tags_are_found(text: str, expected: list[tuple[str, str, str]]) -> None:
    spans = [(it.kind, it.value, text.encode()[it.start : it.end].decode()) for it in find_spans(text)]
    assert spans == expected


@given(st.lists(st.sampled_from([*"ab@#.:/ (ü👋\n", "https://x.de", "@a.test"]), max_size=40).map("".join))
def test_spans_are_whole_characters_and_do_not_overlap(text: str) -> None:
    end = 0
    for span in find_spans(text):
        assert end <= span.start < span.end <= len(text.encode())
        text.encode()[span.start : span.end].decode()
        end = span.end


def test_video_is_embedded_without_images() -> None:
    film, picture = ({"kind": kind, "blob": {"ref": kind}, "alt": kind} for kind in ("video", "image"))
    assert build_embed([]) is None
    assert build_embed([picture, film]) == {"$type": "app.bsky.embed.video", "video": {"ref": "video"}, "alt": "video"}
