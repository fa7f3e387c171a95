"""Contents as stored: to JSON and back, and the text that a search looks through."""

import dataclasses
import json
from functools import cache, lru_cache

from pydantic import TypeAdapter

from postino.values.content import Content, ContentOverride
from postino.values.text import normalize_unicode


def dump_content(content: Content) -> str:
    return json.dumps(dataclasses.asdict(content), ensure_ascii=False)


@lru_cache(maxsize=16)
def load_content(text: str) -> Content:
    """Parse a stored content. Cached, because posts of one content are usually read together."""
    return _content_type().validate_json(text)


def load_body(text: str) -> str:
    """Return only the body of a stored content: lists of many posts need no more."""
    body: str = json.loads(text)["body"]
    return body


def extract_search_text(content: Content) -> str:
    """Return all text of a content and its overrides, normalized for substring search."""
    sources: list[Content | ContentOverride] = [content, *content.overrides.values()]
    return normalize_search_text("\n".join(part for source in sources for part in list_texts(source) if part))


def list_texts(source: Content | ContentOverride) -> list[str | None]:
    return [source.title, source.body, *(source.thread or ()), *(source.hashtags or ())]


def normalize_search_text(text: str) -> str:
    """Return the text composed and without case, so that a search finds either spelling."""
    return normalize_unicode(normalize_unicode(text).casefold())


@cache
def _content_type() -> TypeAdapter[Content]:
    return TypeAdapter(Content)
