"""How a content is rendered for one network."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.rules.rendering import list_used_placeholders, normalize_text, render_content, select_content
from postino.values.content import Content, ContentOverride, MediaKind, MediaRef, Severity

WORDS = st.text(alphabet="ab#é {}\n\t\r😀", max_size=30)
SAFE = st.text(alphabet="ab é😀", max_size=10)


def render_text(content: Content, network: str = "mastodon") -> str:
    return render_content(content, network).parts[0]


def test_a_network_uses_its_override_and_all_others_the_body() -> None:
    content = Content(body="to all", overrides={"mastodon": ContentOverride(body="to you")})
    assert render_text(content, "mastodon") == "to you"
    assert render_text(content, "bluesky") == "to all"


def test_each_field_is_overridden_separately() -> None:
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
def test_placeholders_are_filled_once_and_other_braces_stay(body: str, rendered: str) -> None:
    given = {"name": "Ada", "trick": "{{name}}", "first name": "Ada L.", "group": "\\g<0>"}
    result = render_content(Content(body=body, placeholders=given), "mastodon")
    assert result.parts == (rendered,)
    assert result.problems == ()


def test_placeholders_are_filled_in_every_text_field() -> None:
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


def test_an_unfilled_placeholder_is_a_problem_with_its_name_and_field() -> None:
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
    assert render_text(content) == "{{nmae}} {{nmae}}"
    assert render_content(content, "x").problems[0].field == "overrides.x.text"


def test_only_placeholders_in_the_published_text_count_as_used() -> None:
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
def test_whitespace_is_normalized_without_losing_content(written: str, tidy: str) -> None:
    assert normalize_text(written) == tidy


@given(st.text())
def test_normalizing_twice_changes_nothing(text: str) -> None:
    assert normalize_text(normalize_text(text)) == normalize_text(text)


@given(st.text().filter(lambda text: "\0" not in text))
def test_a_text_without_braces_and_hashtags_is_only_normalized(text: str) -> None:
    text = text.replace("{", "(")
    assert render_text(Content(body=text, placeholders={"name": "Ada"})) == normalize_text(text)


@given(WORDS, st.lists(SAFE, max_size=5))
def test_rendering_twice_changes_nothing(body: str, tags: list[str]) -> None:
    once = render_text(Content(body=body, hashtags=tuple(tags)))
    assert render_text(Content(body=once, hashtags=tuple(tags))) == once


def test_hashtags_are_appended_to_the_first_part_or_kept_separate() -> None:
    content = Content(body="a", thread=("b",), hashtags=("#one", "two", "One"))
    assert render_content(content, "mastodon").parts == ("a\n\n#one #two", "b")
    assert render_content(content, "wordpress").parts == ("a", "b")
    assert render_content(content, "wordpress").hashtags == ("one", "two")


def test_a_title_is_one_line() -> None:
    assert render_content(Content(title=" a\n b "), "youtube").title == "a b"
    assert render_content(Content(title=" \n"), "youtube").title is None


def test_only_the_first_hundred_unfilled_placeholders_are_reported() -> None:
    names = iter(range(100_000))
    parts = tuple("".join(f"{{{{n{next(names)}}}}}" for _ in range(200)) for _ in range(50))
    rendered = render_content(
        Content(body="b", thread=parts, placeholders={f"n{-n}": "" for n in range(1, 101)}), "mastodon"
    )
    assert len(rendered.problems) == 100
    assert len([problem for problem in rendered.problems if "Did you mean" in problem.message]) <= 10
