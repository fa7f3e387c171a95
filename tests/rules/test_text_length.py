"""The length of a text, as each network counts it."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from postino.rules.text_length import GRAPHEME, LengthLimit, Measure

FAMILY = "👨‍👩‍👧‍👦"
MASTODON = LengthLimit(measure=Measure.GRAPHEMES, most=500, link=23, short_mentions=True)


@pytest.mark.parametrize(
    ("text", "graphemes", "characters", "utf16", "octets"),
    [
        ("", 0, 0, 0, 0),
        ("abc", 3, 3, 3, 3),
        ("è", 1, 1, 1, 2),
        ("e\u0300", 1, 2, 2, 3),
        ("😀", 1, 1, 2, 4),
        (FAMILY, 1, 7, 11, 25),
        ("🇮🇹🇩🇪", 2, 4, 8, 16),
        ("नि", 1, 2, 2, 6),
        ("한국", 2, 2, 2, 6),
        ("a\r\nb", 3, 4, 4, 4),
    ],
)
def test_every_measure_counts_its_own_units(
    text: str, graphemes: int, characters: int, utf16: int, octets: int
) -> None:
    counts = {measure: LengthLimit(measure=measure, most=1).count(text) for measure in Measure}
    assert counts == {
        Measure.GRAPHEMES: graphemes,
        Measure.CHARACTERS: characters,
        Measure.UTF16: utf16,
        Measure.BYTES: octets,
    }


@given(st.text(st.sampled_from("a\u0301\u0316\u200d🇮🇹👍🏽❤\ufe0f\u0600क्\u0903\r\n\0\u1100\u1161\u11a8")))
def test_graphemes_are_those_of_unicode(text: str) -> None:
    assert GRAPHEME.findall(text) == regex.findall(r"\X", text)


@given(st.text())
def test_measures_are_ordered_from_graphemes_to_bytes(text: str) -> None:
    counts = [LengthLimit(measure=measure, most=1).count(text) for measure in Measure]
    assert counts == sorted(counts)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("https://a.example/" + "x" * 200, 23),
        ("http://a.it", 23),
        ("HTTPS://A.EXAMPLE", 23),
        ("see https://a.example/b?c=d#e.", 4 + 23 + 1),
        ("(https://a.example/b)", 1 + 23 + 1),
        ("https://a.example/b https://a.example/c", 23 + 1 + 23),
        ("https://bücher.example/straße", 23),
        ("https://a.example:8080/", 23),
        ("https://localhost/path", 22),
        ("a.example/no-scheme", 19),
        ("xhttps://a.example", 18),
        ("https://", 8),
        ("ciao @ada", 9),
        ("ciao @ada@home.example", 9),
        ("ciao @ada@home.example, @bob@a.b-c.example!", 9 + 2 + 4 + 1),
        ("ada@home.example", 16),
        ("https://home.example/@ada@away.example", 23),
        (FAMILY, 1),
    ],
)
def test_mastodon_counts_links_as_23_and_mentions_without_their_server(text: str, count: int) -> None:
    assert MASTODON.count(text) == count


@given(st.text(max_size=200))
def test_a_text_without_links_and_mentions_counts_its_graphemes(text: str) -> None:
    text = text.replace("@", "").replace("/", "")
    assert MASTODON.count(text) == LengthLimit(measure=Measure.GRAPHEMES, most=1).count(text)


@pytest.mark.parametrize("text", ["https://a.example/" * 280, "@a" * 2500, "https://" + "a." * 2400, "@" + "a." * 2500])
def test_no_text_is_slow_to_count(text: str) -> None:
    assert MASTODON.count(text) > 0


@given(st.text(alphabet=st.characters(codec="ascii")) | st.text(alphabet="\r\na"))
def test_the_fast_path_for_ascii_counts_the_same(text: str) -> None:
    assert LengthLimit(measure=Measure.GRAPHEMES, most=1).count(text) == len(GRAPHEME.findall(text))
