"""Options for the content and time of a post."""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from postino.errors import WrongUse

MediaUrls = Annotated[
    list[str] | None,
    typer.Option("--media", metavar="URL", help="URL of an image or video; may be repeated."),
]
Alts = Annotated[
    list[str] | None,
    typer.Option("--alt", metavar="TEXT", help="Alternative text, in the order of --media."),
]
Thread = Annotated[
    list[str] | None,
    typer.Option("--thread", metavar="TEXT", help="Text of a reply that continues the thread; may be repeated."),
]
Title = Annotated[str | None, typer.Option("--title", help="Title, for networks that have one.", show_default=False)]
Hashtags = Annotated[list[str] | None, typer.Option("--hashtag", metavar="TAG", help="Hashtag; may be repeated.")]
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME",
        help="When to publish: 2026-03-29T14:30, with or without an offset. Default: now.",
        show_default=False,
    ),
]
Timezone = Annotated[
    str | None,
    typer.Option(
        "--timezone",
        metavar="ZONE",
        help="Time zone of times without an offset, such as Europe/Rome.",
        show_default=False,
    ),
]
Until = Annotated[
    str | None,
    typer.Option("--publish-until", metavar="TIME", help="Do not publish after this time.", show_default=False),
]


def read_text(text: str | None) -> str | None:
    """Return the text, or standard input for `-`."""
    if text != "-":
        return text
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise WrongUse("text: standard input is not valid UTF-8.", field="text") from None


def build_content(
    text: str | None,
    title: str | None,
    media: Sequence[str] | None,
    alts: Sequence[str] | None,
    thread: Sequence[str] | None,
    hashtags: Sequence[str] | None,
    **when: Any,
) -> dict[str, Any]:
    """Collect the fields that are set."""
    content = {"text": text, "title": title, "thread": thread, "hashtags": hashtags, "media": build_media(media, alts)}
    return {name: value for name, value in {**content, **when}.items() if value is not None and value != []}


def build_media(urls: Sequence[str] | None, alts: Sequence[str] | None) -> list[dict[str, str]]:
    if len(alts or ()) > len(urls or ()):
        raise WrongUse("alt: there are more --alt than --media options.", field="alt")
    padded = [*(alts or ()), *[""] * len(urls or ())]
    return [{"url": url, "alt": alt} for url, alt in zip(urls or (), padded, strict=False)]
