"""Write docs/api-reference.md from openapi.json. Usage: api_reference.py OPENAPI_JSON REFERENCE_MD"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

HEAD = """# API reference

<!-- Written by `make openapi` from openapi.json. Do not edit. -->

Every request with its parameters and responses, then every type with its fields. [api.md](api.md) explains
authentication, errors, pagination, rate limits and idempotency.

**Bold** parameters are required. Every request under `/v1` can also fail with 401, 422, 429 or 503. A request that
changes something or concerns all brands can also fail with 403. A request with a body can also fail with 400, 408 or
413. See [errors](api.md#errors).
"""
COMMON = {"400", "401", "403", "408", "413", "422", "429", "503"}
METHODS = ("get", "post", "patch", "put", "delete")
Json = dict[str, Any]


def write_reference(openapi: Json) -> str:
    """Return the page as Markdown."""
    lines = [HEAD]
    for tag in openapi.get("tags", []):
        operations = list(list_operations(openapi, tag["name"]))
        if operations:
            lines += [f"## {tag['name'].capitalize()}\n", wrap(tag.get("description"))]
            lines += [describe_operation(openapi, *operation) for operation in operations]
    lines += ["## Types\n", *(describe_type(name, schema) for name, schema in list_types(openapi))]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def list_operations(openapi: Json, tag: str) -> list[tuple[str, str, Json]]:
    return [
        (method, path, operation)
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
        if method in METHODS and tag in operation.get("tags", ())
    ]


def describe_operation(openapi: Json, method: str, path: str, operation: Json) -> str:
    access = operation.get("x-role", "none; no authentication")
    lines = [f"### {operation['summary']}\n", f"`{method.upper()} {path}`\n", wrap(operation["description"])]
    lines += [f"Role: {access}.\n"]
    rows = [describe_parameter(one) for one in operation.get("parameters", ())]
    rows += describe_body(openapi, operation)
    if rows:
        lines += ["| parameter | in | type | meaning |", "|---|---|---|---|", *rows, ""]
    lines += ["| status | response |", "|---|---|", *describe_responses(openapi, operation), ""]
    return "\n".join(lines)


def describe_parameter(parameter: Json) -> str:
    name = mark_required(parameter["name"], required=parameter.get("required", False))
    return (
        f"| {name} | {parameter['in']} | {name_type(parameter['schema'])} | {to_cell(parameter.get('description'))} |"
    )


def describe_body(openapi: Json, operation: Json) -> list[str]:
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" not in content:
        return [
            f"| body | body | {kind} | {to_cell(operation['requestBody'].get('description'))} |" for kind in content
        ]
    schema = resolve(openapi, content["application/json"]["schema"])
    required = schema.get("required", ())
    return [
        f"| {mark_required(name, required=name in required)} | body | {name_type(field)} |"
        f" {to_cell(field.get('description'))} |"
        for name, field in schema.get("properties", {}).items()
    ]


def resolve(openapi: Json, schema: Json) -> Json:
    """Return the object that a body's schema refers to; a body that may be left out is that object or null."""
    for option in (schema, *schema.get("anyOf", ())):
        if "$ref" in option:
            found: Json = openapi["components"]["schemas"][option["$ref"].rpartition("/")[2]]
            return found
    return schema


def describe_responses(openapi: Json, operation: Json) -> list[str]:
    shared = openapi["components"]["responses"]
    return [
        f"| {status} | {name_response(shared.get(response.get('$ref', '').rpartition('/')[2], response))} |"
        for status, response in operation["responses"].items()
        if status not in COMMON
    ]


def name_response(response: Json) -> str:
    described = to_cell(response["description"])
    kinds = [name_type(content["schema"]) for content in response.get("content", {}).values() if content.get("schema")]
    return ", ".join(kinds) if kinds and described in ("OK", "Created", "Accepted") else described


def list_types(openapi: Json) -> list[tuple[str, Json]]:
    return sorted(openapi["components"]["schemas"].items())


def describe_type(name: str, schema: Json) -> str:
    head = [f"### {name}\n", wrap(schema.get("description"))]
    if "properties" not in schema:
        return "\n".join([*head, f"{name_type(schema)}\n"])
    rows = [
        f"| `{field}` | {name_type(value)} | {to_cell(value.get('description'))} |"
        for field, value in schema["properties"].items()
    ]
    return "\n".join([*head, "| field | type | meaning |", "|---|---|---|", *rows, ""])


def name_type(schema: Json) -> str:
    """Return a type in a few words: `string`, `Post`, a list of `Post`, one of two literals."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return " or ".join(dict.fromkeys(map(name_type, options)))
    if schema.get("type") == "array":
        return f"list of {name_type(schema.get('items', {}))}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"object of {name_type(schema['additionalProperties'])}"
    named = schema.get("format") or schema.get("type") or "any"
    return str(named)


def wrap(text: str | None) -> str:
    return textwrap.fill(" ".join((text or "").split()), 118, break_long_words=False, break_on_hyphens=False) + "\n"


def mark_required(name: str, *, required: bool) -> str:
    return f"**`{name}`**" if required else f"`{name}`"


def to_cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:3])
    target.write_text(write_reference(json.loads(source.read_text(encoding="utf-8"))), encoding="utf-8")
