"""What the API says of itself. `python -m postino.api.openapi` writes openapi.json, which is kept with the code."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from postino.api.access import COOKIE
from postino.api.permissions import ANYBODY, row_of
from postino.api.queries import parameters_of

PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "field": {"type": "string"},
        "request_id": {"type": "string"},
        "problems": {"type": "array", "items": {"type": "object"}},
    },
}
# In the place of what FastAPI says of refusals, which are none of its own here.
RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "Another way it went well, or a refusal as problem details (RFC 9457).",
        "content": {"application/problem+json": {"schema": PROBLEM}, "application/json": {"schema": {}}},
    }
}

KEY = {"type": "http", "scheme": "bearer", "description": "An API key."}
SESSION = {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "A browser that is signed in."}

# What is made is found under its id: the part of an address that asks for it, and where the answer has it.
MADE = {
    "/v1/posts": ("post_id", "/posts/0/id"),
    "/v1/drafts": ("draft_id", "/id"),
    "/v1/jobs": ("job_id", "/id"),
    "/v1/accounts": ("account_id", "/id"),
    "/v1/blackouts": ("blackout_id", "/id"),
    "/v1/api-keys": ("key_id", "/id"),
    "/v1/users": ("user_id", "/id"),
}


class Announced(FastAPI):
    """Tells of itself also what is asked behind the question mark, and who is let in."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            announce(super().openapi())
        return super().openapi()


def announce(told: dict[str, Any]) -> None:
    told.setdefault("components", {})["securitySchemes"] = {"key": KEY, "session": SESSION}
    for path, operations in told["paths"].items():
        for method, operation in operations.items():
            if asked := parameters_of(method.upper(), path):
                operation["parameters"] = [*operation.get("parameters", ()), *asked]
            if row_of(method.upper(), path) != ANYBODY:
                operation["security"] = [{"key": []}, {"session": []}]
    for path, (name, place) in MADE.items():
        told["paths"][path]["post"]["responses"]["201"]["links"] = links_of(told, name, f"$response.body#{place}")


def links_of(told: dict[str, Any], name: str, place: str) -> dict[str, Any]:
    """To every operation whose address asks for such an id."""
    meant = [one for path, operations in told["paths"].items() if f"{{{name}}}" in path for one in operations.values()]
    return {one["operationId"]: {"operationId": one["operationId"], "parameters": {name: place}} for one in meant}


def document() -> dict[str, Any]:
    from postino.api.server import make_app
    from postino.config import load

    with tempfile.TemporaryDirectory() as folder:
        return make_app(load(Path(folder), environment={})).openapi()


def written(told: dict[str, Any]) -> str:
    return json.dumps(told, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else "openapi.json").write_text(written(document()), encoding="utf-8")
