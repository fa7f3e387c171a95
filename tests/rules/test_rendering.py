"""What a content becomes on one network."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.rules.rendering import list_used_placeholders, normalize_text, render_content, select_content
from postino.values.content import Content, ContentOverride, MediaKind, MediaRef, Severity

WORDS = st.text(alphabet="ab#é {}\n\t\r😀", max_size=30)
SAFE = st.text(alphabet="ab é😀", max_size=10)


def text_of(content: Content, network: str = "mastodon") -> str:
    return render_content(content, network).parts[0]


def test_a_network_says_its_override_and_all_others_the_body() -> None:
    content = Content(body="to all", overrides={"mastodon": ContentOverride(body="to you")})
    assert text_of(content, "mastodon") == "to you"
    assert text_of(content, "bluesky") == "to all"


def test_every_field_is_overridden_by_itself() -> None:
    picture = MediaRef(url="http://a.example/1.png")
    content = Content(
        body="b",
        thread=("t",),
        title="T",
        hashtags=("h",),
        media=(picture,),
        overrides={
            "x": ContentOverride(thread=(), media=(), options={"reply": "nobody"}),
            "youtube": ContentOverride(title="", hashtags=()),
        },
    )
    on_x = render_content(content, "x")
    assert (on_x.parts, on_x.title, on_x.media, on_x.options) == (("b\n\n#h",), "T", (), {"reply": "nobody"})
    on_youtube = render_content(content, "youtube")
    assert (on_youtube.parts, on_youtube.title, on_youtube.hashtags) == (("b", "t"), None, ())
    assert [ref.url for ref in on_youtube.media] == [picture.url]


@pytest.mark.parametrize(
    ("body", "rendered"),
    [
        ("Ciao {{name}}!", "Ciao Ada!"),
        ("Ciao {{ name }}!", "Ciao Ada!"),
        ("{{name}}{{name}}", "AdaAda"),
        ("{{{name}}}", "{Ada}"),
        ("{name} {} {{}} {{ }} }}{{", "{name} {} {{}} {{ }} }}{{"),
        ("{{na\nme}}", "{{na\nme}}"),
        ("{{trick}}", "{{name}}"),
        ("{{first name}}", "Ada L."),
        ("\\1 {{group}}", "\\1 \\g<0>"),
    ],
)
def test_placeholders_are_filled_once_and_other_braces_are_left_alone(body: str, rendered: str) -> None:
    given = {"name": "Ada", "trick": "{{name}}", "first name": "Ada L.", "group": "\\g<0>"}
    result = render_content(Content(body=body, placeholders=given), "mastodon")
    assert result.parts == (rendered,)
    assert result.problems == ()


def test_placeholders_are_filled_everywhere() -> None:
    content = Content(
        body="{{n}}",
        thread=("{{n}}",),
        title="{{n}}",
        hashtags=("{{n}}",),
        media=(MediaRef(url="http://a.example/{{n}}.png", alt="{{n}}"),),
        placeholders={"n": "Ada"},
    )
    result = render_content(content, "mastodon")
    assert (result.parts, result.title, result.hashtags) == (("Ada\n\n#Ada", "Ada"), "Ada", ("Ada",))
    assert result.media == (MediaRef(url="http://a.example/{{n}}.png", alt="Ada", kind=MediaKind.IMAGE),)


def test_a_placeholder_nobody_filled_is_a_problem_that_names_it_and_where_it_is() -> None:
    content = Content(
        body="{{nmae}} {{nmae}}",
        thread=("fine", "{{zzz}}"),
        media=(MediaRef(url="http://a.example/1.png", alt="{{q}}"),),
        placeholders={"name": "Ada"},
        overrides={"x": ContentOverride(body="{{other}}")},
    )
    problems = render_content(content, "mastodon").problems
    assert [(problem.severity, problem.field) for problem in problems] == [
        (Severity.ERROR, "text"),
        (Severity.ERROR, "thread[1]"),
        (Severity.ERROR, "media[0].alt"),
    ]
    assert "{{nmae}}" in problems[0].message
    assert "Did you mean {{name}}?" in problems[0].message
    assert "{{zzz}}" in problems[1].message
    assert text_of(content) == "{{nmae}} {{nmae}}"
    assert render_content(content, "x").problems[0].field == "overrides.x.text"


def test_only_the_placeholders_that_are_said_there_count_as_used() -> None:
    content = Content(
        body="{{a}} {{unknown}}",
        hashtags=("{{b}}",),
        placeholders={"a": "1", "b": "2", "c": "3"},
        overrides={"x": ContentOverride(body="{{c}}")},
    )
    assert list_used_placeholders(select_content(content, "mastodon"), content.placeholders) == {"a": "1", "b": "2"}
    assert list_used_placeholders(select_content(content, "x"), content.placeholders) == {"b": "2", "c": "3"}


@pytest.mark.parametrize(
    ("written", "tidy"),
    [
        ("  a  ", "a"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a  \n\t\nb\t", "a\n\nb"),
        ("a\n\n\n\nb", "a\n\n\n\nb"),
        ("a\vb\u2028c", "a\nb\nc"),
        ("a\x07b\x1b", "ab"),
        ("a  b\tc", "a  b\tc"),
        ("\u2800\na", "\u2800\na"),
        ("👩\u200d🚀\ufe0f", "👩\u200d🚀\ufe0f"),
        (" \n ", ""),
    ],
)
def test_spaces_are_put_in_order_and_nothing_people_meant_is_lost(written: str, tidy: str) -> None:
    assert normalize_text(written) == tidy


@given(st.text())
def test_what_is_tidy_stays_as_it_is(text: str) -> None:
    assert normalize_text(normalize_text(text)) == normalize_text(text)


@given(st.text().filter(lambda text: "\0" not in text))
def test_without_braces_and_hashtags_a_text_is_only_tidied(text: str) -> None:
    text = text.replace("{", "(")
    assert text_of(Content(body=text, placeholders={"name": "Ada"})) == normalize_text(text)


@given(WORDS, st.lists(SAFE, max_size=5))
def test_what_was_rendered_renders_to_itself(body: str, tags: list[str]) -> None:
    once = text_of(Content(body=body, hashtags=tuple(tags)))
    assert text_of(Content(body=once, hashtags=tuple(tags))) == once


def test_hashtags_are_appended_to_the_first_part_or_kept_separate() -> None:
    content = Content(body="a", thread=("b",), hashtags=("#one", "two", "One"))
    assert render_content(content, "mastodon").parts == ("a\n\n#one #two", "b")
    assert render_content(content, "wordpress").parts == ("a", "b")
    assert render_content(content, "wordpress").hashtags == ("one", "two")


def test_a_title_is_one_line() -> None:
    assert render_content(Content(title=" a\n b "), "youtube").title == "a b"
    assert render_content(Content(title=" \n"), "youtube").title is None


def test_of_thousands_of_placeholders_that_nobody_filled_the_first_are_told() -> None:
    names = iter(range(100_000))
    parts = tuple("".join(f"{{{{n{next(names)}}}}}" for _ in range(200)) for _ in range(50))
    rendered = render_content(
        Content(body="b", thread=parts, placeholders={f"n{-n}": "" for n in range(1, 101)}), "mastodon"
    )
    assert len(rendered.problems) == 100
    assert len([problem for problem in rendered.problems if "Did you mean" in problem.message]) <= 10
