"""What openapi.json announces, held against what is really answered: by every test that asks a server something.

Here shapes are closed: a field that is answered and not described is as wrong as one that is missing.
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


def closed(told: Any) -> Any:
    """The same, and in answers nothing else."""
    match told:
        case {"properties": dict(), "type": "object"}:
            return {"additionalProperties": False, **{name: closed(part) for name, part in told.items()}}
        case dict():
            return {name: closed(part) for name, part in told.items()}
        case list():
            return [closed(part) for part in told]
        case _:
            return told


@cache
def document() -> Any:
    return closed(json.loads((ROOT / "openapi.json").read_text(encoding="utf-8")))


@cache
def addresses() -> list[tuple[re.Pattern[str], str]]:
    """Those without a part to fill in first: `/v1/jobs/bulk` is not a job."""
    paths = sorted(document()["paths"], key=lambda path: path.count("{"))
    return [(re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))), path) for path in paths]


def operation_at(method: str, address: str) -> tuple[str, Mapping[str, Any]] | None:
    """None where nothing is announced: pages, and methods that are not there."""
    asked = urlsplit(address).path
    path = next((path for pattern, path in addresses() if pattern.fullmatch(asked)), None)
    found = None if path is None else document()["paths"][path].get(method.lower())
    return None if path is None or found is None else (path, found)


@cache
def validator(method: str, path: str, status: str, media: str) -> Any:
    response = resolved(document()["paths"][path][method.lower()]["responses"][status])
    schema = response["content"][media]["schema"]
    whole = {**schema, "components": document()["components"]}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)


def resolved(told: Any) -> Any:
    while "$ref" in told:
        _, _, kind, name = told["$ref"].split("/")
        told = document()["components"][kind][name]
    return told


def check(method: str, address: str, status: int, headers: Mapping[str, str], body: bytes) -> None:
    """`headers` by their names in small letters."""
    at = operation_at(method, address)
    if at is None:
        return
    path, operation = at
    asked = f"{method} {path} answered {status}"
    announced = operation["responses"].get(str(status))
    assert announced is not None, f"{asked}, which is not announced: {body[:500]!r}"
    response = resolved(announced)
    for name, header in response["headers"].items():
        assert name.lower() in headers or not resolved(header).get("required"), f"{asked} without {name}"
    if not response.get("content"):
        assert body == b"", f"{asked} with a body"
        return
    media = headers["content-type"].partition(";")[0]
    assert media in response["content"], f"{asked} as {media}"
    if media.endswith("json"):
        packed = headers.get("content-encoding") == "gzip"
        validator(method, path, str(status), media).validate(json.loads(gzip.decompress(body) if packed else body))
