"""How a post is checked against the limits of a network, and which problems are reported."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.rules.content_limits import NetworkLimits, check_limits
from postino.rules.media import MediaKindLimits, MediaLimits
from postino.rules.rendering import render_content
from postino.rules.text_length import LengthLimit, Measure
from postino.values.content import Content, ContentOverride, MediaKind, MediaRef, Problem, Severity

PICTURE = MediaRef(url="https://a.example/1.png")
LIMITS = NetworkLimits(
    network="mastodon",
    network_title="Mastodon",
    checked=date(2026, 11, 16),
    source="here",
    text=(LengthLimit(measure=Measure.GRAPHEMES, most=20), LengthLimit(measure=Measure.BYTES, most=40)),
    threads=True,
    media=MediaLimits(most=1, kinds={MediaKind.IMAGE: MediaKindLimits(most=1, types=("png",))}),
)
SHORT_CAPTION = replace(LIMITS, caption=(LengthLimit(measure=Measure.UTF16, most=5),))


def problems(content: Content, limits: NetworkLimits = LIMITS) -> list[Problem]:
    return check_limits(render_content(content, limits.network), limits)


def the_problem(content: Content, limits: NetworkLimits = LIMITS) -> Problem:
    (problem,) = problems(content, limits)
    return problem


@pytest.mark.parametrize(
    "content",
    [
        Content(body="a" * 20),
        Content(body="a" * 20, thread=("b" * 20, "c")),
        Content(media=(PICTURE,)),
        Content(body="a" * 20, media=(PICTURE,)),
    ],
)
def test_a_content_within_the_limits_has_no_problem(content: Content) -> None:
    assert problems(content) == []


def test_a_long_text_is_reported_with_its_excess_field_and_advice() -> None:
    assert the_problem(Content(body="a" * 32)) == Problem(
        Severity.ERROR,
        "text",
        "The text is 12 characters too long for Mastodon: it has 32, and the maximum is 20."
        " Shorten it, split it into a thread or write another text for Mastodon.",
    )


def test_an_excess_of_one_character_is_singular() -> None:
    assert "is 1 character too long" in the_problem(Content(body="a" * 21)).message


def test_every_length_limit_of_a_network_is_checked() -> None:
    message = the_problem(Content(body="😀" * 15)).message
    assert "20 bytes too long for Mastodon: it has 60, and the maximum is 40 (an accented letter" in message


def test_hashtags_count_towards_the_length() -> None:
    assert "it has 25, and the maximum is 20" in the_problem(Content(body="a" * 18, hashtags=("rome",))).message


def test_each_part_of_a_thread_is_measured_separately() -> None:
    problem = the_problem(Content(body="a", thread=("b", "c" * 21)))
    assert problem.field == "thread[1]"
    assert problem.message.startswith("Part 3 of the thread is 1 character too long for Mastodon")


def test_a_thread_is_refused_where_the_network_has_none() -> None:
    problem = the_problem(Content(body="a", thread=("b",)), replace(LIMITS, threads=False))
    assert problem.field == "thread"
    assert "Mastodon has no threads" in problem.message


def test_a_text_with_media_has_its_own_length_limit() -> None:
    assert problems(Content(body="a" * 20), SHORT_CAPTION) == []
    problem = the_problem(Content(body="😀😀😀", thread=("b" * 20,), media=(PICTURE,)), SHORT_CAPTION)
    assert problem.message == (
        "The text is 1 character too long for Mastodon: it has 6, and the maximum is 5 for a text with media (most"
        " emoji count as two). Shorten it, remove the media (then the maximum is 20), split it into a thread or"
        " write another text for Mastodon."
    )


def test_links_count_as_on_the_network_and_the_message_says_so() -> None:
    limits = replace(LIMITS, text=(LengthLimit(measure=Measure.GRAPHEMES, most=30, link=23),))
    assert problems(Content(body="look: https://a.example/" + "x" * 100), limits) == []
    assert "(every link counts as 23)" in the_problem(Content(body="look here: https://a.example"), limits).message


def test_an_option_that_counts_as_text_is_measured_with_it() -> None:
    limits = replace(LIMITS, counted=("spoiler_text",))
    override = {"mastodon": ContentOverride(options={"spoiler_text": "spoilers", "language": "it"})}
    assert problems(Content(body="a" * 12, overrides=override), limits) == []
    assert the_problem(Content(body="a", thread=("a" * 13,), overrides=override), limits).message.startswith(
        "Part 2 of the thread with spoiler_text is 1 character too long for Mastodon: it has 21, and the maximum is 20."
    )


@pytest.mark.parametrize("body", ["", "  \n"])
def test_an_empty_content_cannot_be_published(body: str) -> None:
    problem = the_problem(Content(body=body, thread=("",)))
    assert (problem.severity, problem.field) == (Severity.ERROR, "text")
    assert "The post for Mastodon is empty" in problem.message


def test_an_empty_part_of_a_thread_is_reported_by_its_number() -> None:
    assert the_problem(Content(body="a", thread=("b", " "))).message.startswith("Part 3 of the thread is empty")
    assert the_problem(Content(thread=("b",))).message.startswith("The first part of the thread is empty")
    assert problems(Content(thread=("b",), media=(PICTURE,))) == []


def test_a_title_for_a_network_without_titles_is_a_warning() -> None:
    problem = the_problem(Content(body="a", title="Sale"))
    assert (problem.severity, problem.field) == (Severity.WARNING, "title")
    assert problem.message.startswith("Mastodon has no titles")


def test_a_title_has_a_length_limit() -> None:
    limits = replace(LIMITS, title=(LengthLimit(measure=Measure.CHARACTERS, most=3),))
    assert problems(Content(body="a", title="Sal"), limits) == []
    assert the_problem(Content(body="a", title="Sale"), limits).message == (
        "The title is 1 character too long for Mastodon: it has 4, and the maximum is 3."
        " Shorten it or write another title for Mastodon."
    )


def test_hashtags_in_text_thread_and_list_are_counted_together() -> None:
    limits = replace(LIMITS, hashtags=2)
    assert problems(Content(body="#a #A", hashtags=("b",)), limits) == []
    message = the_problem(Content(body="#a #A", thread=("#c",), hashtags=("b",)), limits).message
    assert message == "Mastodon accepts 2 hashtags, and the post has 3. Remove 1."


def test_a_problem_names_the_field_it_comes_from() -> None:
    override = ContentOverride(body="a" * 21, media=(PICTURE, PICTURE), title="T")
    content = Content(body="a", thread=("b" * 21,), overrides={"mastodon": override})
    assert [problem.field for problem in problems(content)] == [
        "overrides.mastodon.text",
        "thread[0]",
        "overrides.mastodon.media",
        "overrides.mastodon.title",
    ]


def test_rendering_problems_are_included_and_errors_come_first() -> None:
    reported = problems(Content(body="{{x}}", hashtags=("2026",), title="T", media=(PICTURE, PICTURE)))
    assert [str(problem.severity) for problem in reported] == ["error", "error", "warning", "warning"]
    assert "{{x}}" in reported[0].message


@given(st.text(alphabet="aè😀\n ", max_size=60))
def test_a_text_has_an_error_exactly_if_it_exceeds_a_limit(body: str) -> None:
    (text,) = render_content(Content(body=body), "mastodon").parts
    fits = bool(text) and all(length.count(text) <= length.most for length in LIMITS.text)
    assert (problems(Content(body=body)) == []) == fits


@given(st.integers(1, 200))
def test_removing_the_reported_excess_is_enough(count: int) -> None:
    reported = problems(Content(body="a" * count))
    excess = int(reported[0].message.split()[3]) if reported else 0
    assert count - excess == min(count, 20)
