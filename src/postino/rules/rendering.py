"""What a content becomes on one network: overrides chosen, placeholders filled, hashtags appended, spaces put in order.

Whether the network takes it is for `rules.limits` to say; nothing is ever cut here.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from postino.rules.hashtags import appended, tag_problems, tags_of
from postino.rules.media import kind_problems, with_kinds
from postino.values.content import Content, MediaRef, Override, Problem, Severity

PLACEHOLDER = re.compile(r"\{\{[^\S\n]*+([^{}\n]+)\}\}")
SPACES_AT_LINE_ENDS = re.compile(r"[ \t]+$", re.MULTILINE)
LINE_BREAKS = re.compile(r"\r\n|[\r\v\f\u2028\u2029]")
CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")

FIELDS = {"body": "text", "thread": "thread", "title": "title", "hashtags": "hashtags", "media": "media"}
TAGS_APART = frozenset({"youtube", "wordpress"})  # which have a field of their own for them
MOST_UNFILLED = 100  # placeholders that are told of; nobody reads more
MOST_MEANT = 10  # of those, with what was probably meant: to find that takes long
MOST_COMPARED = 100  # characters of a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What is said on one network, field by field: its override, else what is said everywhere."""

    network: str
    body: str
    thread: tuple[str, ...]
    title: str | None
    hashtags: tuple[str, ...]
    media: tuple[MediaRef, ...]
    options: Mapping[str, Any]
    overridden: frozenset[str]

    def where(self, name: str) -> str:
        """Where who wrote it finds it: `text`, or `overrides.mastodon.text`."""
        return f"overrides.{self.network}.{name}" if re.split(r"[.\[]", name)[0] in self.overridden else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The finished post on one network. `hashtags` are without their sign; `problems` are what rendering met with."""

    network: str
    parts: tuple[str, ...]
    title: str | None
    media: tuple[MediaRef, ...]
    hashtags: tuple[str, ...]
    options: Mapping[str, Any]
    problems: tuple[Problem, ...]
    said: Chosen = field(repr=False)


def render(content: Content, network: str) -> Rendered:
    said = chosen(content, network)
    ready = _filled(said, content.placeholders)
    parts = tuple(tidied(part) for part in (ready.body, *ready.thread))
    tags = tags_of(ready.hashtags)
    return Rendered(
        network=network,
        parts=parts if network in TAGS_APART else (appended(parts, tags), *parts[1:]),
        title=" ".join((ready.title or "").split()) or None,
        media=with_kinds(ready.media),
        hashtags=tags,
        options=ready.options,
        problems=(
            *_unfilled(said, content.placeholders),
            *tag_problems(ready.hashtags, said.where("hashtags")),
            *kind_problems(ready.media, said.where("media")),
        ),
        said=said,
    )


def chosen(content: Content, network: str) -> Chosen:
    override = content.overrides.get(network, Override())
    own = {name: said for name in FIELDS if (said := getattr(override, name)) is not None}
    return Chosen(
        network=network,
        options=override.options,
        overridden=frozenset(FIELDS[name] for name in own),
        **{name: getattr(content, name) for name in FIELDS} | own,
    )


def used_placeholders(said: Chosen, placeholders: Mapping[str, str]) -> dict[str, str]:
    """Those that what is said there mentions, with what is put for them."""
    names = {name for _, text in _caption(said) for name in _names(text)}
    return {name: text for name, text in placeholders.items() if name in names}


def tidied(text: str) -> str:
    """Line breaks of one kind, no spaces at the ends of lines or of the text, no control characters."""
    return SPACES_AT_LINE_ENDS.sub("", CONTROLS.sub("", LINE_BREAKS.sub("\n", text))).strip()


def _caption(said: Chosen) -> Iterator[tuple[str, str]]:
    yield "text", said.body
    yield "title", said.title or ""
    yield from ((f"thread[{number}]", part) for number, part in enumerate(said.thread))
    yield from (("hashtags", tag) for tag in said.hashtags)


def _names(text: str) -> list[str]:
    return [found.strip() for found in PLACEHOLDER.findall(text)]


def _filled(said: Chosen, placeholders: Mapping[str, str]) -> Chosen:
    def fill(text: str) -> str:
        return PLACEHOLDER.sub(lambda found: placeholders.get(found[1].strip(), found[0]), text)

    return replace(
        said,
        body=fill(said.body),
        thread=tuple(map(fill, said.thread)),
        title=fill(said.title or ""),
        hashtags=tuple(map(fill, said.hashtags)),
        media=tuple(replace(ref, alt=fill(ref.alt)) for ref in said.media),
    )


def _unfilled(said: Chosen, placeholders: Mapping[str, str]) -> Iterator[Problem]:
    alts = ((f"media[{number}].alt", ref.alt) for number, ref in enumerate(said.media))
    unknown = (
        (place, name)
        for place, text in (*_caption(said), *alts)
        for name in dict.fromkeys(_names(text))
        if name not in placeholders
    )
    for number, (place, name) in enumerate(islice(unknown, MOST_UNFILLED)):
        hint = _meant(name, placeholders) if number < MOST_MEANT else "Give it a text, or take it out."
        message = f"Nothing is given for {{{{{name}}}}}, and it would go out as it stands. {hint}"
        yield Problem(Severity.ERROR, said.where(place), message)


def _meant(name: str, placeholders: Mapping[str, str]) -> str:
    nearest = difflib.get_close_matches(name[:MOST_COMPARED], placeholders, n=1)
    return f"Did you mean {{{{{nearest[0]}}}}}?" if nearest else "Give it a text, or take it out."
