"""Convert values to JSON: times in UTC, ids and queues as text."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from postino.values.job import Queue


def to_json(value: Any) -> Any:
    match value:
        case Queue():
            return value.label
        case UUID():
            return str(value)
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        case _:
            return value


def render_fields(value: Any, *names: str) -> Any:
    """Render some fields of a dataclass, or all, under their own names. The caller names the type of the view."""
    return {name: to_json(getattr(value, name)) for name in names or [entry.name for entry in fields(value)]}


def omit(view: Mapping[str, Any], *names: str) -> Any:
    return {name: value for name, value in view.items() if name not in names}
