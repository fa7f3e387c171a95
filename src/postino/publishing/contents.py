"""Contents as they are kept: JSON, and back."""

import dataclasses
import json
from functools import cache

from pydantic import TypeAdapter

from postino.content import Content


def text_of(content: Content) -> str:
    return json.dumps(dataclasses.asdict(content), ensure_ascii=False)


def content_from(text: str) -> Content:
    return _contents().validate_json(text)


@cache
def _contents() -> TypeAdapter[Content]:
    return TypeAdapter(Content)
