"""How hashtags are normalized, found, appended and checked."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.rules.hashtags import append_tags, check_tags, find_tags, normalize_tag, normalize_tags

TAGS = st.lists(st.text(alphabet="abAB éß", max_size=5), max_size=6)


@pytest.mark.parametrize(
    ("written", "tag"),
    [("#rome", "rome"), (" ## Rome ", "Rome"), ("＃東京", "東京"), ("new york", "newyork"), ("#", "")],
)
def test_a_hashtag_is_normalized_without_sign_and_spaces(written: str, tag: str) -> None:
    assert normalize_tag(written) == tag


def test_a_hashtag_in_two_spellings_counts_once_in_the_first_spelling() -> None:
    assert normalize_tags(["Rome", "#rome", "", "ROME", "café", unicodedata.normalize("NFD", "Café")]) == (
        "Rome",
        "café",
    )


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#a, (#b) #c!", ("a", "b", "c")),
        ("हम #हिन्दी में", ("हिन्दी",)),
        ("＃東京", ("東京",)),
        ("https://a.example/#part page#part &#39; a##b", ()),
        ("#a-b", ("a",)),
        ("# a", ()),
    ],
)
def test_hashtags_are_found_where_networks_find_them(text: str, tags: tuple[str, ...]) -> None:
    assert find_tags(text) == tags


@pytest.mark.parametrize(
    ("parts", "tags", "result"),
    [
        (["text"], ["a", "b"], "text\n\n#a #b"),
        (["text"], [], "text"),
        ([""], ["a"], "#a"),
        (["I love #Rome"], ["rome", "b"], "I love #Rome\n\n#b"),
        (["one", "two #a"], ["a"], "one"),
        (["text\n\n#a #b"], ["c"], "text\n\n#a #b #c"),
        (["#a"], ["b"], "#a #b"),
        (["I love #a"], ["b"], "I love #a\n\n#b"),
        (["##b"], ["b"], "##b\n\n#b"),  # no network finds a hashtag in ##b
    ],
)
def test_hashtags_are_appended_only_if_missing(parts: list[str], tags: list[str], result: str) -> None:
    assert append_tags(parts, tags) == result


@given(st.text(alphabet="ab# \n", max_size=20), TAGS)
def test_every_hashtag_is_in_the_text_and_none_is_appended_twice(text: str, written: list[str]) -> None:
    tags = normalize_tags(written)
    result = append_tags([text], tags)
    assert result.startswith(text)
    assert {tag.casefold() for tag in tags} <= {tag.casefold() for tag in find_tags(result)}
    assert append_tags([result], tags) == result


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        ("rock-n-roll", "cut to “#rock”"),
        ("c++", "cannot contain “+”"),
        ("2026", "only digits"),
        ("!", "is not a hashtag"),
        ("😀", "is not a hashtag"),
    ],
)
def test_a_hashtag_that_networks_cut_or_reject_is_a_warning(tag: str, message: str) -> None:
    (problem,) = check_tags([tag], "hashtags")
    assert message in problem.message
    assert f"“#{tag}”" in problem.message


@pytest.mark.parametrize("tag", ["rome", "new_york", "2026goals", "東京", "हिन्दी", "", "#ok"])
def test_a_valid_hashtag_is_no_warning(tag: str) -> None:
    assert check_tags([tag], "hashtags") == []
