"""The limits that networks declare, and how they are parsed."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

from postino.providers.declaration import parse_limits
from postino.providers.registry import load_built_in
from postino.rules.content_limits import NetworkLimits, check_limits
from postino.rules.rendering import render_content
from postino.rules.text_length import LengthLimit, Measure
from postino.values.content import Content, ContentOverride, MediaKind, MediaRef

LIMITS = load_built_in().limits
PICTURE = MediaRef(url="https://a.example/1.jpg")
VIDEO = MediaRef(url="https://a.example/1.mp4")
EVERY = pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS.keys())


@EVERY
def test_every_network_has_a_title_a_date_and_a_source(limits: NetworkLimits) -> None:
    assert limits.name == load_built_in().titles[limits.network]
    assert limits.checked.year >= 2026
    assert limits.source
    assert limits.text


@EVERY
def test_declared_limits_are_consistent(limits: NetworkLimits) -> None:
    lengths = [*limits.text, *limits.caption, *limits.title]
    assert all(length.most > 0 for length in lengths)
    assert limits.media.most <= sum(kind.most for kind in limits.media.kinds.values())
    assert all(kind.most <= limits.media.most for kind in limits.media.kinds.values())
    for kind, taken in limits.media.kinds.items():
        files = [MediaRef(url=f"https://a.example/1.{ending}", kind=kind) for ending in taken.types]
        assert files
        for ref in files:
            assert check_limits(render_content(Content(body="a", media=(ref,)), limits.network), limits) == []


def errors(network: str, content: Content) -> int:
    return len(check_limits(render_content(content, network), LIMITS[network]))


def with_warning(content: Content) -> Content:
    return replace(content, overrides={"mastodon": ContentOverride(options={"spoiler_text": "eyes"})})


@pytest.mark.parametrize(
    ("network", "fits", "does_not"),
    [
        ("bluesky", Content(body="👨‍👩‍👧‍👦" * 120), Content(body="👨‍👩‍👧‍👦" * 121)),  # 25 bytes each
        ("bluesky", Content(body="a" * 300), Content(body="a" * 301)),
        ("bluesky", Content(media=(PICTURE,) * 4), Content(media=(PICTURE,) * 5)),
        ("bluesky", Content(media=(VIDEO,)), Content(media=(VIDEO, PICTURE))),
        ("mastodon", Content(body="👨‍👩‍👧‍👦" * 500), Content(body="a" * 501)),
        ("mastodon", Content(body="a" * 476 + " https://a.example/" + "b" * 99), Content(body="a" * 501)),
        ("mastodon", with_warning(Content(body="a" * 496)), with_warning(Content(body="a" * 497))),
        ("mastodon", Content(media=(PICTURE,) * 4), Content(media=(VIDEO,) * 2)),
        ("telegram", Content(body="😀" * 2048), Content(body="😀" * 2048 + "a")),
        ("telegram", Content(body="a" * 1024, media=(PICTURE,)), Content(body="a" * 1025, media=(PICTURE,))),
        ("telegram", Content(media=(PICTURE,) * 10), Content(media=(PICTURE,) * 11)),
        ("telegram", Content(media=(PICTURE,)), Content(media=(VIDEO,))),
    ],
)
def test_limits_accept_what_fits_and_refuse_one_more(network: str, fits: Content, does_not: Content) -> None:
    assert errors(network, fits) == 0
    assert errors(network, does_not) == 1


DECLARED = """
checked = 2026-11-16
source = "somewhere"
text = [{ measure = "characters", most = 2200 }]
title = [{ measure = "bytes", most = 100, link = 23, short_mentions = true }]
hashtags = 30
[media]
most = 10
least = 1
mixed = true
image = { most = 10, types = ["jpg"], bytes = 8388608, alt = { measure = "utf16", most = 100 } }
"""


def parse(declared: str) -> NetworkLimits:
    return parse_limits("instagram", "Instagram", **tomllib.loads(declared))


def test_all_limits_are_parsed() -> None:
    limits = parse(DECLARED)
    assert (limits.network, limits.name) == ("instagram", "Instagram")
    assert limits.title == (LengthLimit(measure=Measure.BYTES, most=100, link=23, short_mentions=True),)
    assert limits.hashtags == 30
    assert (limits.media.least, limits.media.mixed) == (1, True)
    assert limits.media.kinds[MediaKind.IMAGE].alt == LengthLimit(measure=Measure.UTF16, most=100)
    assert MediaKind.VIDEO not in limits.media.kinds


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("hashtags", "hashtag"),
        ("least", "fewest"),
        ("characters", "letters"),
        ("bytes = 8388608", "size = 1"),
        ("most = 2200", "max = 1"),
    ],
)
def test_misspelt_limit_is_an_error(right: str, wrong: str) -> None:
    assert right in DECLARED
    with pytest.raises((TypeError, ValueError)):
        parse(DECLARED.replace(right, wrong, 1))
