"""Checks every response that tests receive against openapi.json.

An undocumented field fails as well as a missing one.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs

from tests.documents import ROOT


def forbid_extra_fields(schema: Any) -> Any:
    """Return the schema with `additionalProperties: false` in every object."""
    match schema:
        case {"properties": dict(), "type": "object"}:
            return {"additionalProperties": False, **{name: forbid_extra_fields(part) for name, part in schema.items()}}
        case dict():
            return {name: forbid_extra_fields(part) for name, part in schema.items()}
        case list():
            return [forbid_extra_fields(part) for part in schema]
        case _:
            return schema


@cache
def document() -> Any:
    return forbid_extra_fields(json.loads((ROOT / "openapi.json").read_text(encoding="utf-8")))


@cache
def list_patterns() -> list[tuple[re.Pattern[str], str]]:
    """Return a pattern for each path, fixed paths first: `/v1/jobs/bulk` is not a job."""
    paths = sorted(document()["paths"], key=lambda path: path.count("{"))
    return [(re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))), path) for path in paths]


def operation_at(method: str, address: str) -> tuple[str, Mapping[str, Any]] | None:
    """Return the path and operation of a request; None if it is not documented."""
    result = urlsplit(address).path
    path = next((path for pattern, path in list_patterns() if pattern.fullmatch(result)), None)
    reply = None if path is None else document()["paths"][path].get(method.lower())
    return None if path is None or reply is None else (path, reply)


@cache
def validator(method: str, path: str, status: str, media: str) -> Any:
    response = resolve(document()["paths"][path][method.lower()]["responses"][status])
    schema = response["content"][media]["schema"]
    whole = {**schema, "components": document()["components"]}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)


def resolve(part: Any) -> Any:
    while "$ref" in part:
        _, _, kind, name = part["$ref"].split("/")
        part = document()["components"][kind][name]
    return part


def check(method: str, address: str, status: int, headers: Mapping[str, str], body: bytes) -> None:
    """Fail unless the response is documented. Header names are in lower case."""
    at = operation_at(method, address)
    if at is None:
        return
    path, operation = at
    request = f"{method} {path} answered {status}"
    documented = operation["responses"].get(str(status))
    assert documented is not None, f"{request}, which is not documented: {body[:500]!r}"
    response = resolve(documented)
    for name, header in response["headers"].items():
        assert name.lower() in headers or not resolve(header).get("required"), f"{request} without {name}"
    if not response.get("content"):
        assert body == b"", f"{request} with a body"
        return
    media = headers["content-type"].partition(";")[0]
    assert media in response["content"], f"{request} as {media}"
    if media.endswith("json"):
        packed = headers.get("content-encoding") == "gzip"
        validator(method, path, str(status), media).validate(json.loads(gzip.decompress(body) if packed else body))
