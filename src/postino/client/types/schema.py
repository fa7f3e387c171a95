"""Building blocks of all response types: field descriptions, text formats and pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeAlias, TypeVar

from typing_extensions import TypedDict

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Doc:
    """The description of a field. pydantic writes it into the JSON schema; the client need not import pydantic."""

    text: str

    def __get_pydantic_json_schema__(self, schema: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        return handler(schema) | {"description": self.text}


@dataclass(frozen=True, slots=True)
class Format:
    """The JSON schema format of a text, such as `date-time`."""

    name: str

    def __get_pydantic_json_schema__(self, schema: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        return handler(schema) | {"format": self.name}


Timestamp: TypeAlias = Annotated[str, Format("date-time")]
Date: TypeAlias = Annotated[str, Format("date")]
Uuid: TypeAlias = Annotated[str, Format("uuid")]


class Page(TypedDict, Generic[T]):
    """One page of a list."""

    data: Annotated[list[T], Doc("The items of this page.")]
    next_cursor: Annotated[str | None, Doc("Pass it as `cursor` to get the next page; null on the last page.")]
