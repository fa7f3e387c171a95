"""Invalid values for every field, derived from openapi.json."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

LONG = "x" * 10_001
BROKEN = ("half a \ud800", "a\0b")
TIMES = frozenset({"at", "run_at", "publish_until", "until", "from", "start", "end", "expires_at"})
NO_ZONE = "2030-01-01T00:00"
NO_TIMES = ("yesterday", "2030-02-30T00:00:00Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00", NO_ZONE)
NOT_TO_COME = ("2020-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z")
OF_KIND: dict[str, tuple[Any, ...]] = {
    "string": (7, True, [], {}, LONG, *BROKEN),
    "integer": ("7", 1.5, True, [], -1, 10**30),
    "number": ("7", True, [], -1, 10**400),
    "boolean": ("yes", 1, [], {}),
    "array": ("x", 7, {}),
    "object": ("x", 7, []),
}
Schema = dict[str, Any]


@dataclass(frozen=True)
class Wrong:
    """An invalid value, its place in the body, and the body."""

    place: str
    value: Any
    body: Any

    def __str__(self) -> str:
        return f"{self.place} = {self.value!r:.60}"


@dataclass(frozen=True)
class Document:
    """openapi.json, with what it refers to."""

    schema_document: Schema

    def operations(self) -> Iterator[tuple[str, str, Schema]]:
        for path, operations in self.schema_document["paths"].items():
            for method, operation in operations.items():
                yield method.upper(), path, operation

    def get_body(self, operation: Schema) -> Schema | None:
        content = operation.get("requestBody", {}).get("content", {})
        return content["application/json"]["schema"] if "application/json" in content else None

    def kinds(self, schema: Schema) -> list[Schema]:
        """Return the alternatives of a schema."""
        if "$ref" in schema:
            return self.kinds(self.schema_document["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
        if "anyOf" in schema:
            return [kind for part in schema["anyOf"] for kind in self.kinds(part)]
        return [schema]

    def wrong_in(self, schema: Schema, good: Any) -> Iterator[Wrong]:
        """Yield invalid values for each field of an object; the other fields stay valid."""
        for kind in self.kinds(schema):
            if kind.get("type") != "object":
                continue
            for name, part in kind.get("properties", {}).items():
                for wrong in self.wrong_at(name, part, good.get(name)):
                    yield Wrong(wrong.place, wrong.value, good | {name: wrong.body})
            if kind.get("additionalProperties") is False:
                yield Wrong("zebra", 1, good | {"zebra": 1})

    def wrong_at(self, name: str, schema: Schema, good: Any) -> Iterator[Wrong]:
        kinds = self.kinds(schema)
        for value in values(name, kinds):
            yield Wrong(name, value, value)
        for kind in kinds:
            if kind.get("type") == "object" and isinstance(good, dict):
                for inner in self.wrong_in(kind, good):
                    yield Wrong(f"{name}.{inner.place}", inner.value, inner.body)
                more = kind.get("additionalProperties")
                if not isinstance(more, dict) or not more:
                    continue
                for key in good:
                    for inner in self.wrong_at(key, more, good[key]):
                        yield Wrong(f"{name}.{inner.place}", inner.value, good | {key: inner.body})
            if kind.get("type") == "array" and isinstance(good, list) and good:
                for inner in self.wrong_at("0", kind["items"], good[0]):
                    place = f"{name}[0]{inner.place.removeprefix('0')}"
                    yield Wrong(place, inner.value, [inner.body, *good[1:]])


def values(name: str, kinds: list[Schema]) -> Iterator[Any]:
    types = {kind.get("type") for kind in kinds}
    if None in types and not any("enum" in kind or "const" in kind for kind in kinds):
        return  # anything goes
    if "null" not in types:
        yield None
    for value in [value for kind in sorted(filter(None, types)) for value in OF_KIND.get(kind, ())]:
        if not any(fits(value, kind) for kind in types):
            yield value
    if "string" in types:
        yield from (*BROKEN, LONG)
        if name == "timezone":
            yield from ("Europe/Rom", "")
        if name in TIMES:
            yield from (*NO_TIMES, *NOT_TO_COME)
    if "integer" in types:
        yield from (-1, 10**30)
    if "number" in types:
        yield from (-1, 10**400)


def fits(value: Any, kind: str | None) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
    return False
