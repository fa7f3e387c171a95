"""What may be asked behind the question mark, route by route, as openapi.json tells it. The routes refuse the rest."""

from collections.abc import Mapping
from typing import Any

from fastapi import Request

from postino.api.query import FEWEST, MOST, USUAL, query_of, truth_of

Names = tuple[str, ...]
LONGEST_WINDOW = 30 * 86_400  # seconds
PAGE: Names = ("limit", "cursor")
JOBS: Names = ("type", "channel", "account", "brand")
ALL_JOBS: Names = ("state", *JOBS, "queue", "parent", *PAGE)
NAMES: Mapping[tuple[str, str], Names] = {
    ("GET", "/v1/posts"): ("status", "network", "account", "brand", "from", "to", "timezone", "text", "flags", *PAGE),
    ("GET", "/v1/calendar"): ("from", "to", "timezone", "brand", "limit"),
    ("GET", "/v1/drafts"): PAGE,
    ("POST", "/v1/imports"): ("commit", "token", "timezone"),
    ("GET", "/v1/accounts"): ("network", "brand", "state"),
    ("GET", "/v1/jobs"): ALL_JOBS,
    ("GET", "/fp-publisher/v1/jobs"): ALL_JOBS,
    ("GET", "/v1/dead-letters"): (*JOBS, "cause", "resolved", *PAGE),
    ("GET", "/v1/dead-letters/groups"): ("brand",),
    ("GET", "/v1/uncertain"): (*JOBS, *PAGE),
    ("GET", "/v1/brands"): PAGE,
    ("GET", "/v1/quotas"): ("account", "network", *PAGE),
    ("GET", "/v1/stats"): ("window", "network", "brand"),
    ("GET", "/v1/events"): ("types", "after"),
    ("GET", "/v1/posts/{post_id}/explain"): ("timezone",),
    ("GET", "/v1/jobs/{job_id}/explain"): ("timezone",),
    ("POST", "/v1/blackouts"): ("preview",),
    ("DELETE", "/v1/blackouts/{blackout_id}"): ("reason",),
    ("GET", "/v1/api-keys"): PAGE,
    ("DELETE", "/v1/api-keys/{key_id}"): ("reason",),
    ("GET", "/v1/users"): PAGE,
    ("DELETE", "/v1/users/{user_id}"): ("reason",),
    ("GET", "/v1/audit"): (*PAGE, "verify"),
    ("GET", "/v1/sandbox/published"): ("all", "after", "network"),
    ("GET", "/v1/sandbox/faults"): ("all",),
    ("DELETE", "/v1/sandbox/faults"): ("network",),
}
TRUTH = {"type": "boolean", "default": False}
SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "limit": {"type": "integer", "minimum": FEWEST, "maximum": MOST, "default": USUAL},
    **dict.fromkeys(("all", "commit", "preview", "resolved", "verify"), TRUTH),
}
TEXT = {"type": "string"}
DAY = {"type": "string", "format": "date"}
# Where a name means something else than elsewhere.
HERE: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "/v1/calendar": {"from": DAY, "to": DAY},
    "/v1/stats": {"window": {"type": "integer", "minimum": 1, "maximum": LONGEST_WINDOW}},
    "/v1/sandbox/published": {"after": {"type": "integer", "minimum": 0}},
}
NEEDED = {("/v1/calendar", "from"), ("/v1/calendar", "to")}


def parameters_of(method: str, path: str) -> list[dict[str, Any]]:
    schemas = {**SCHEMAS, **HERE.get(path, {})}
    return [
        {"name": name, "in": "query", "required": (path, name) in NEEDED, "schema": {**schemas.get(name, TEXT)}}
        for name in NAMES.get((method, path), ())
    ]


async def check_query(request: Request) -> None:
    """Nobody is answered another question than was asked: what a route does not know it refuses."""
    query = query_of(request, *NAMES.get((request.method, request.scope["route"].path), ()))
    for name in query:
        if SCHEMAS.get(name) is TRUTH:
            truth_of(query, name)
