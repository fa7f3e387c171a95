"""Contents as they are kept: JSON, and back; and the words they are found by."""

import dataclasses
import json
import unicodedata
from functools import cache, lru_cache

from pydantic import TypeAdapter

from postino.values.content import Content, Override


def text_of(content: Content) -> str:
    return json.dumps(dataclasses.asdict(content), ensure_ascii=False)


def words_of(content: Content) -> str:
    """All that is said, in one case and one spelling: what a search looks through, letter by letter."""
    parts = [*said_in(content), *(part for override in content.overrides.values() for part in said_in(override))]
    return folded("\n".join(part for part in parts if part))


def said_in(said: Content | Override) -> list[str | None]:
    return [said.title, said.body, *(said.thread or ()), *(said.hashtags or ())]


def folded(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


@lru_cache(maxsize=16)
def content_from(text: str) -> Content:
    """Posts of one content are mostly looked at together, and its text may be long."""
    return _contents().validate_json(text)


def body_of(text: str) -> str:
    """Only its first part: many are shown at once where that is enough."""
    body: str = json.loads(text)["body"]
    return body


@cache
def _contents() -> TypeAdapter[Content]:
    return TypeAdapter(Content)
