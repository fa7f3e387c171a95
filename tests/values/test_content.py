"""The limits of a content, whatever the network."""

from __future__ import annotations

from typing import Any

import pytest

from postino.errors import WrongUse
from postino.values.content import (
    MAX_BODY,
    MAX_HASHTAGS,
    MAX_MEDIA,
    MAX_NETWORK_NAME,
    MAX_PARTS,
    MAX_PLACEHOLDERS,
    MAX_TITLE,
    MAX_URL,
    Content,
    ContentOverride,
    MediaRef,
    check_networks,
)
from postino.values.networks import PLANNED_NETWORKS

KNOWN = (*PLANNED_NETWORKS, "bluesky", "mastodon", "telegram")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"body": "a" * MAX_BODY},
        {"body": "😀" * MAX_BODY},
        {"title": "a" * MAX_TITLE},
        {"hashtags": ("a",) * MAX_HASHTAGS},
        {"thread": ("a" * MAX_BODY,) * 3},
        {"thread": ("a",) * MAX_PARTS, "media": (MediaRef(url="https://a.example"),) * MAX_MEDIA},
        {"body": "{{a}} and {{b}}" * 50, "placeholders": {"a": "a" * 900, "b": "b"}},
        {"overrides": {network: ContentOverride(body="a" * MAX_BODY) for network in KNOWN}},
    ],
)
def test_a_content_within_the_limits_is_accepted(fields: dict[str, Any]) -> None:
    Content(**fields)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"body": "a" * (MAX_BODY + 1)}, "text"),
        ({"title": "a" * (MAX_TITLE + 1)}, "title"),
        ({"hashtags": ("a",) * (MAX_HASHTAGS + 1)}, "hashtags"),
        ({"thread": ("fine", "a" * (MAX_BODY + 1))}, "thread[1]"),
        ({"overrides": {"x": ContentOverride(body="a" * (MAX_BODY + 1))}}, "overrides.x.text"),
        ({"overrides": {"x": ContentOverride(title="a" * (MAX_TITLE + 1))}}, "overrides.x.title"),
        ({"overrides": {"a" * (MAX_NETWORK_NAME + 1): ContentOverride()}}, "overrides"),
        ({"thread": ("a",) * (MAX_PARTS + 1)}, "thread"),
        ({"thread": ("a" * MAX_BODY,) * 21}, "text"),
        ({"title": "{{a}}" * 50, "placeholders": {"a": "a" * MAX_BODY}}, "text"),
        ({"hashtags": ("{{a}}",) * MAX_HASHTAGS, "placeholders": {"a": "a" * MAX_BODY}}, "text"),
        ({"media": (MediaRef(url="https://a.example"),) * (MAX_MEDIA + 1)}, "media"),
        ({"media": (MediaRef(url="a" * (MAX_URL + 1)),)}, "media[0].url"),
        ({"overrides": {"x": ContentOverride(thread=("a",) * (MAX_PARTS + 1))}}, "overrides.x.thread"),
        ({"placeholders": {str(number): "a" for number in range(MAX_PLACEHOLDERS + 1)}}, "placeholders"),
        ({"placeholders": {"a": "a" * (MAX_BODY + 1)}}, "placeholders.a"),
        ({"body": "{{a}}" * 1000, "placeholders": {"a": "a" * 100}}, "text"),
        (
            {"overrides": {"x": ContentOverride(body="{{a}}" * 1000)}, "placeholders": {"a": "a" * 100}},
            "overrides.x.text",
        ),
        ({"body": "nul\0"}, "text"),
        ({"body": "half \ud83d"}, "text"),
        ({"placeholders": {"name": "\udc80"}}, "placeholders.name"),
        ({"media": (MediaRef(url="http://a.example/\0"),)}, "media[0].url"),
        ({"overrides": {"x": ContentOverride(media=(MediaRef(url="", alt="\0"),))}}, "overrides.x.media[0].alt"),
    ],
)
def test_a_content_beyond_the_limits_is_refused_with_its_field(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(WrongUse) as error:
        Content(**fields)
    assert error.value.field == field
    assert str(error.value).startswith(field)


def test_a_refusal_names_the_length_and_the_maximum() -> None:
    with pytest.raises(WrongUse, match=r"it has 5,012 characters, and the maximum is 5,000"):
        Content(body="a" * 5012)


def test_a_misspelt_network_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(WrongUse, match=r"Did you mean mastodon\?"):
        check_networks(Content(overrides={"mastdon": ContentOverride()}), KNOWN)
    with pytest.raises(WrongUse, match="Use one of: instagram, facebook"):
        check_networks(Content(overrides={"q": ContentOverride()}), KNOWN)
    check_networks(Content(overrides={"forum": ContentOverride()}), (*KNOWN, "forum"))


def test_a_checksum_never_equals_a_url() -> None:
    address = MediaRef(url="abc")
    assert MediaRef(url="http://a.example/1.png", checksum="abc").reference != address.reference
    assert MediaRef(url="http://b.example/2.png", checksum="abc", alt="x") != address
    assert MediaRef(url="", checksum="abc").reference == MediaRef(url="elsewhere", checksum="abc").reference
