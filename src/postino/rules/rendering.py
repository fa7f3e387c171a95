"""Render a content for one network: apply overrides, fill placeholders, append hashtags, normalize spaces.

It never cuts anything. `rules.content_limits` decides whether the network accepts the result.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from postino.rules.hashtags import append_tags, check_tags, normalize_tags
from postino.rules.media import check_kinds, fill_kinds
from postino.values.content import Content, ContentOverride, MediaRef, Problem, Severity
from postino.values.suggestions import find_nearest

PLACEHOLDER = re.compile(r"\{\{[^\S\n]*+([^{}\n]+)\}\}")
SPACES_AT_LINE_ENDS = re.compile(r"(?<![ \t])[ \t]++$", re.MULTILINE)
LINE_BREAKS = re.compile(r"\r\n|[\r\v\f\u2028\u2029]")
CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")

FIELDS = {"body": "text", "thread": "thread", "title": "title", "hashtags": "hashtags", "media": "media"}
SEPARATE_TAG_NETWORKS = frozenset({"youtube", "wordpress"})  # they have a separate field for hashtags
MAX_REPORTED = 100  # unknown placeholders
MAX_SUGGESTIONS = 10  # of those; finding similar names takes long
NO_VALUE = "Give it a value, or remove it from the text."


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkContent:
    """The content for one network: each field from its override, else from the content."""

    network: str
    body: str
    thread: tuple[str, ...]
    title: str | None
    hashtags: tuple[str, ...]
    media: tuple[MediaRef, ...]
    options: Mapping[str, Any]
    overridden: frozenset[str]

    def field_path(self, name: str) -> str:
        """Return the request field: `text`, or `overrides.mastodon.text`."""
        return f"overrides.{self.network}.{name}" if re.split(r"[.\[]", name)[0] in self.overridden else name


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPost:
    """The rendered post for one network. `hashtags` have no sign; `problems` were found while rendering."""

    network: str
    parts: tuple[str, ...]
    title: str | None
    media: tuple[MediaRef, ...]
    hashtags: tuple[str, ...]
    options: Mapping[str, Any]
    problems: tuple[Problem, ...]
    source: NetworkContent = field(repr=False)


def render_content(content: Content, network: str) -> RenderedPost:
    source = select_content(content, network)
    ready = _fill_placeholders(source, content.placeholders)
    parts = tuple(normalize_text(part) for part in (ready.body, *ready.thread))
    tags = normalize_tags(ready.hashtags)
    return RenderedPost(
        network=network,
        parts=parts if network in SEPARATE_TAG_NETWORKS else (append_tags(parts, tags), *parts[1:]),
        title=" ".join((ready.title or "").split()) or None,
        media=fill_kinds(ready.media),
        hashtags=tags,
        options=ready.options,
        problems=(
            *_check_placeholders(source, content.placeholders),
            *check_tags(ready.hashtags, source.field_path("hashtags")),
            *check_kinds(ready.media, source.field_path("media")),
        ),
        source=source,
    )


def select_content(content: Content, network: str) -> NetworkContent:
    override = content.overrides.get(network, ContentOverride())
    values = {name: value for name in FIELDS if (value := getattr(override, name)) is not None}
    return NetworkContent(
        network=network,
        options=override.options,
        overridden=frozenset(FIELDS[name] for name in values),
        **{name: getattr(content, name) for name in FIELDS} | values,
    )


def limit_to_networks(content: Content, networks: Collection[str]) -> Content:
    """Return the content for these networks: the common fields, their overrides, and the placeholders of both."""
    overrides = {network: override for network, override in content.overrides.items() if network in networks}
    known = replace(content, overrides=overrides)
    names = {
        name
        for network in ("", *overrides)
        for _, text in _list_all_texts(select_content(known, network))
        for name in _find_placeholders(text)
    }
    return replace(known, placeholders={name: text for name, text in content.placeholders.items() if name in names})


def list_used_placeholders(source: NetworkContent, placeholders: Mapping[str, str]) -> dict[str, str]:
    """Return the placeholders that the text uses, with their values."""
    names = {name for _, text in _list_texts(source) for name in _find_placeholders(text)}
    return {name: text for name, text in placeholders.items() if name in names}


def normalize_text(text: str) -> str:
    """Return the text with one kind of line break, and without trailing spaces and control characters."""
    return SPACES_AT_LINE_ENDS.sub("", CONTROLS.sub("", LINE_BREAKS.sub("\n", text))).strip()


def _list_texts(source: NetworkContent) -> Iterator[tuple[str, str]]:
    yield "text", source.body
    yield "title", source.title or ""
    yield from ((f"thread[{number}]", part) for number, part in enumerate(source.thread))
    yield from (("hashtags", tag) for tag in source.hashtags)


def _list_all_texts(source: NetworkContent) -> Iterator[tuple[str, str]]:
    yield from _list_texts(source)
    yield from ((f"media[{number}].alt", ref.alt) for number, ref in enumerate(source.media))


def _find_placeholders(text: str) -> list[str]:
    return [found.strip() for found in PLACEHOLDER.findall(text)]


def _fill_placeholders(source: NetworkContent, placeholders: Mapping[str, str]) -> NetworkContent:
    def fill(text: str) -> str:
        return PLACEHOLDER.sub(lambda found: placeholders.get(found[1].strip(), found[0]), text)

    return replace(
        source,
        body=fill(source.body),
        thread=tuple(map(fill, source.thread)),
        title=fill(source.title or ""),
        hashtags=tuple(map(fill, source.hashtags)),
        media=tuple(replace(ref, alt=fill(ref.alt)) for ref in source.media),
    )


def _check_placeholders(source: NetworkContent, placeholders: Mapping[str, str]) -> Iterator[Problem]:
    unknown = (
        (place, name)
        for place, text in _list_all_texts(source)
        for name in dict.fromkeys(_find_placeholders(text))
        if name not in placeholders
    )
    for number, (place, name) in enumerate(islice(unknown, MAX_REPORTED)):
        hint = _suggest_placeholder(name, placeholders) if number < MAX_SUGGESTIONS else NO_VALUE
        message = f"The placeholder {{{{{name}}}}} has no value. {hint}"
        yield Problem(Severity.ERROR, source.field_path(place), message)


def _suggest_placeholder(name: str, placeholders: Mapping[str, str]) -> str:
    nearest = find_nearest(name, placeholders)
    return f"Did you mean {{{{{nearest}}}}}?" if nearest else NO_VALUE
