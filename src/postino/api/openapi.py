"""What the API says of itself. `python -m postino.api.openapi` writes openapi.json, which is kept with the code."""

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from postino.api.authentication import COOKIE
from postino.api.authorization import ANYBODY, row_of
from postino.api.queries import parameters_of
from postino.api.telling import components, responses_of

KEY = {"type": "http", "scheme": "bearer", "description": "An API key."}
SESSION = {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "A browser that is signed in."}

# What is made or listed is found under its id: the part of an address that asks for it, and where the answer has it.
Links = Mapping[tuple[str, str, str], tuple[str, str, str]]
LINKS: Links = {
    ("post", "/v1/posts", "201"): ("/v1/posts/", "post_id", "/posts/0/id"),
    ("post", "/v1/posts", "202"): ("/v1/contents/", "content_id", "/content_id"),
    ("get", "/v1/posts", "200"): ("/v1/posts/", "post_id", "/data/0/id"),
    ("post", "/v1/drafts", "201"): ("/v1/drafts/", "draft_id", "/id"),
    ("post", "/v1/imports", "200"): ("/v1/imports/", "import_id", "/id"),
    ("post", "/v1/jobs", "201"): ("/v1/jobs/", "job_id", "/id"),
    ("post", "/fp-publisher/v1/jobs", "201"): ("/fp-publisher/v1/jobs/", "job_id", "/id"),
    ("get", "/v1/dead-letters", "200"): ("/v1/dead-letters/", "job_id", "/data/0/id"),
    ("get", "/v1/uncertain", "200"): ("/v1/uncertain/", "job_id", "/data/0/id"),
    ("post", "/v1/accounts", "201"): ("/v1/accounts/", "account_id", "/id"),
    ("post", "/v1/blackouts", "201"): ("/v1/blackouts/", "blackout_id", "/id"),
    ("post", "/v1/sandbox/faults", "201"): ("/v1/sandbox/faults/", "fault_id", "/id"),
    ("post", "/v1/api-keys", "201"): ("/v1/api-keys/", "key_id", "/id"),
    ("post", "/v1/users", "201"): ("/v1/users/", "user_id", "/id"),
}


class Announced(FastAPI):
    """Tells of itself also what is asked behind the question mark, who is let in, and what it answers."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            announce(super().openapi())
        return super().openapi()


def announce(told: dict[str, Any]) -> None:
    kept = told.setdefault("components", {})
    kept["securitySchemes"] = {"key": KEY, "session": SESSION}
    for name, parts in components().items():
        kept[name] = {**kept.get(name, {}), **parts}
    for path, operations in told["paths"].items():
        for method, operation in operations.items():
            if asked := parameters_of(method.upper(), path):
                operation["parameters"] = [*operation.get("parameters", ()), *asked]
            if row_of(method.upper(), path) != ANYBODY:
                operation["security"] = [{"key": []}, {"session": []}]
            operation["responses"] = responses_of(method.upper(), path)
    for (method, path, status), (under, name, place) in LINKS.items():
        links = links_of(told, f"{under}{{{name}}}", name, f"$response.body#{place}")
        told["paths"][path][method]["responses"][status]["links"] = links


def links_of(told: dict[str, Any], under: str, name: str, place: str) -> dict[str, Any]:
    """To every operation whose address asks for such an id."""
    meant = [one for path, operations in told["paths"].items() if path.startswith(under) for one in operations.values()]
    return {one["operationId"]: {"operationId": one["operationId"], "parameters": {name: place}} for one in meant}


def document() -> dict[str, Any]:
    from postino.api.server import make_app
    from postino.config import load_config

    with tempfile.TemporaryDirectory() as folder:
        return make_app(load_config(Path(folder), environment={})).openapi()


def written(told: dict[str, Any]) -> str:
    return json.dumps(told, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else "openapi.json").write_text(written(document()), encoding="utf-8")
