"""From options to what is to be said, and when."""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from postino.errors import WrongUse

MediaUrls = Annotated[
    list[str] | None,
    typer.Option("--media", metavar="URL", help="A picture or film, by its address; may be repeated."),
]
Alts = Annotated[
    list[str] | None,
    typer.Option("--alt", metavar="TEXT", help="What it shows, for who cannot see it; in the order of --media."),
]
Thread = Annotated[
    list[str] | None, typer.Option("--thread", metavar="TEXT", help="A further part, as a reply; may be repeated.")
]
Title = Annotated[str | None, typer.Option("--title", help="For networks that have titles.", show_default=False)]
Hashtags = Annotated[list[str] | None, typer.Option("--hashtag", metavar="TAG", help="May be repeated.")]
At = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="TIME", help="2026-03-29T14:30, or with an offset like +02:00. None: now.", show_default=False
    ),
]
Timezone = Annotated[
    str | None,
    typer.Option("--timezone", metavar="ZONE", help="Of a time without an offset: Europe/Rome.", show_default=False),
]
Until = Annotated[
    str | None,
    typer.Option("--publish-until", metavar="TIME", help="Rather not at all than later than this.", show_default=False),
]


def read_text(text: str | None) -> str | None:
    """A dash reads it from standard input."""
    if text != "-":
        return text
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise WrongUse("text: what comes in is not UTF-8 text.", field="text") from None


def build_content(
    text: str | None,
    title: str | None,
    media: Sequence[str] | None,
    alts: Sequence[str] | None,
    thread: Sequence[str] | None,
    hashtags: Sequence[str] | None,
    **when: Any,
) -> dict[str, Any]:
    """Only what is said."""
    said = {"text": text, "title": title, "thread": thread, "hashtags": hashtags, "media": media_from(media, alts)}
    return {name: value for name, value in {**said, **when}.items() if value is not None and value != []}


def media_from(urls: Sequence[str] | None, alts: Sequence[str] | None) -> list[dict[str, str]]:
    if len(alts or ()) > len(urls or ()):
        raise WrongUse("alt: there are more of them than --media they could belong to.", field="alt")
    padded = [*(alts or ()), *[""] * len(urls or ())]
    return [{"url": url, "alt": alt} for url, alt in zip(urls or (), padded, strict=False)]
