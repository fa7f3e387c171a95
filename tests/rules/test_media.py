"""Which images and videos a network accepts."""

from __future__ import annotations

import pytest

from postino.rules.media import (
    MediaKindLimits,
    MediaLimits,
    check_kinds,
    check_media,
    fill_kinds,
    guess_file_type,
    guess_kind,
)
from postino.rules.text_length import LengthLimit, Measure
from postino.values.content import MediaKind, MediaRef

PICTURES = MediaKindLimits(
    most=4, types=("jpg", "png"), bytes=2_000_000, alt=LengthLimit(measure=Measure.CHARACTERS, most=10)
)
VIDEOS = MediaKindLimits(most=1, types=("mp4",))
APART = MediaLimits(most=4, kinds={MediaKind.IMAGE: PICTURES, MediaKind.VIDEO: VIDEOS})
TOGETHER = MediaLimits(most=4, mixed=True, kinds={MediaKind.IMAGE: PICTURES, MediaKind.VIDEO: VIDEOS})
PICTURES_ONLY = MediaLimits(most=4, least=1, kinds={MediaKind.IMAGE: PICTURES})
NOTHING = MediaLimits()


@pytest.mark.parametrize(
    ("url", "type", "kind"),
    [
        ("https://a.example/1.jpg", "jpg", MediaKind.IMAGE),
        ("https://a.example/1.JPEG?w=100&x=.mp4#.gif", "jpg", MediaKind.IMAGE),
        ("https://a.example/clip.final.mp4", "mp4", MediaKind.VIDEO),
        ("https://a.example/clip.MOV", "mov", MediaKind.VIDEO),
        ("https://a.example/media/17", None, None),
        ("https://a.example.png", None, None),
        ("https://a.png/media", None, None),
        ("https://a.example/report.pdf", None, None),
        ("https://[broken/1.png", None, None),
        ("", None, None),
    ],
)
def test_a_kind_is_guessed_from_the_end_of_the_path(url: str, type: str | None, kind: MediaKind | None) -> None:
    assert guess_file_type(url) == type
    assert guess_kind(MediaRef(url=url)) is kind


def test_an_explicit_kind_overrides_the_guess() -> None:
    assert guess_kind(MediaRef(url="https://a.example/1.gif", kind=MediaKind.VIDEO)) is MediaKind.VIDEO


def test_an_unknown_kind_becomes_an_image_with_a_warning() -> None:
    media = [MediaRef(url="https://a.example/1.png"), MediaRef(url="https://a.example/2")]
    assert [ref.kind for ref in fill_kinds(media)] == [MediaKind.IMAGE, MediaKind.IMAGE]
    (problem,) = check_kinds(media, "media")
    assert problem.field == "media[1]"
    assert "attachment 2" in problem.message


def list_problems(urls: list[str], limits: MediaLimits) -> list[tuple[str, str]]:
    media = fill_kinds([MediaRef(url=f"https://a.example/{url}") for url in urls])
    return [(problem.field, problem.message) for problem in check_media(media, limits, "Anywhere", "media")]


@pytest.mark.parametrize(
    ("urls", "limits"),
    [
        ([], APART),
        ([], NOTHING),
        (["1.jpg"] * 4, APART),
        (["1.mp4"], APART),
        (["unknown"], APART),
        (["1.mp4", "1.jpg", "2.jpeg", "3.png"], TOGETHER),
        (["1.png"], PICTURES_ONLY),
    ],
)
def test_media_within_the_limits_have_no_problem(urls: list[str], limits: MediaLimits) -> None:
    assert list_problems(urls, limits) == []


@pytest.mark.parametrize(
    ("urls", "limits", "text"),
    [
        (["1.jpg"] * 5, APART, "Anywhere accepts 4 images in a post, and there are 5. Remove 1."),
        (["1.mp4"] * 3, APART, "Anywhere accepts 1 video in a post, and there are 3. Remove 2."),
        (["1.mp4", "1.jpg"], APART, "does not accept images and videos in one post"),
        (["1.mp4", *["1.jpg"] * 4], TOGETHER, "Anywhere accepts 4 attachments in a post, and there are 5. Remove 1"),
        (["1.mp4"], PICTURES_ONLY, "Anywhere does not accept videos. Remove it."),
        (["1.mp4", "2.mp4", "1.jpg"], PICTURES_ONLY, "Anywhere does not accept videos. Remove them."),
        (["1.jpg"], NOTHING, "Anywhere does not accept images"),
        ([], PICTURES_ONLY, "Anywhere needs media in every post. Add one: image."),
    ],
)
def test_too_many_or_too_few_media_are_one_problem(urls: list[str], limits: MediaLimits, text: str) -> None:
    ((field, message),) = list_problems(urls, limits)
    assert field == "media"
    assert text in message


def test_an_unsupported_file_type_is_reported_by_its_number() -> None:
    assert list_problems(["1.jpg", "2.webp"], APART) == [
        ("media[1]", "Image 2 is a WEBP file, which Anywhere does not accept. Save it as one of JPG, PNG."),
    ]


def test_known_sizes_and_descriptions_are_checked() -> None:
    ref = MediaRef(url="https://a.example/1.jpg", kind=MediaKind.IMAGE, size=2_500_000, alt="a" * 12)
    problems = list(check_media([ref], APART, "Anywhere", "overrides.x.media"))
    assert [(problem.field, problem.message) for problem in problems] == [
        (
            "overrides.x.media[0]",
            "Image 1 is too large: it has 2.5 MB, and Anywhere accepts 2 MB. Make it smaller.",
        ),
        (
            "overrides.x.media[0].alt",
            "The description of image 1 is 2 characters too long for Anywhere. Shorten it.",
        ),
    ]
