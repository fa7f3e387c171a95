"""openapi.json, derived from the routes. `python -m postino.api.openapi` writes it; it is kept with the code."""

import json
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from postino.api.authentication import COOKIE, CSRF_HEADER
from postino.api.context import Context
from postino.api.idempotency import MAX_KEY
from postino.api.query import DEFAULT_LIMIT, MAX_LIMIT
from postino.api.routes import Link, Route, Routes
from postino.client.types.errors import ProblemDetailsView

Schema = dict[str, Any]
routes = Routes("openapi")
TITLE = "Postino API"
VERSION = "1"
REF = "#/components/schemas/{model}"
PAGE = re.compile(r"\bPage_(\w+?)_")
VIEW = re.compile(r"^(#/components/schemas/)?(\w+)View(Page)?$")
DESCRIPTION = f"""\
Postino schedules and publishes social-media posts, and never publishes one twice.

## Authentication
Programs send an API key: `Authorization: Bearer KEY`. Browsers sign in with `POST /v1/login` and send the session
cookie. Every request of a browser other than GET also needs the header `{CSRF_HEADER}`.

## Authorization
A key or user has a role (`viewer`, `editor` or `owner`), and access to all brands or to some. A request for an object
of another brand gets 404, as if the object did not exist.

## Errors
Errors are problem details (RFC 9457, `application/problem+json`). `detail` is a sentence for people; `field` names the
wrong field or parameter. If there are several problems, `problems` lists them all. Unknown fields and parameters are
errors. A refused request changes nothing.

## Pagination
Lists return `data` and `next_cursor`. Pass `next_cursor` as `cursor` to get the next page; on the last page it is null.
`limit` sets the size of a page ({DEFAULT_LIMIT}; at most {MAX_LIMIT}).

## Rate limits
Responses have the headers `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`. A request above the limit
gets 429 with `Retry-After`.

## Idempotency
Send `Idempotency-Key` (1 to {MAX_KEY} characters) with a request that creates something. You can then repeat the
request safely: the same request gets the stored response. Another request with the same key gets 409.

## Times
Times in responses are UTC. Times in requests have an offset, or are local to `timezone`.
"""
TAGS = {
    "posts": "A post is one content on one account.",
    "drafts": "Posts that are saved but not scheduled.",
    "calendar": "Posts by local day.",
    "imports": "Posts from CSV files.",
    "accounts": "Accounts on networks.",
    "jobs": "Jobs of any type. A post is a job of the type `postino.post`.",
    "dead letters": "Jobs that failed and wait for a person.",
    "uncertain": "Jobs whose visible call may have succeeded although the response was lost.",
    "brands": "Customers that accounts, posts and jobs belong to.",
    "workers": "Processes that run jobs.",
    "quotas": "How many calls or posts a network allows in a period.",
    "stats": "Success rate and punctuality.",
    "events": "A stream of events.",
    "sandbox": "Simulated networks that fail on request.",
    "explain": "Why a post or job has not run.",
    "blackouts": "Windows of local time in which Postino publishes nothing.",
    "circuits": "Circuit breakers, one per service.",
    "gates": "Pauses and cooldowns.",
    "database": "Whether Postino sends from its database, which may be a copy or a backup.",
    "queues": "Numbers of waiting and running jobs, and caps.",
    "forecast": "Which jobs would run when.",
    "API keys": "Keys for programs.",
    "users": "People who sign in.",
    "audit": "The audit trail: who did what, and why.",
    "sessions": "Sessions of browsers.",
    "health": "Health checks for load balancers.",
}
ERRORS: Mapping[int, tuple[str, str]] = {
    400: ("BadRequest", "The body is not JSON in UTF-8."),
    401: ("Unauthorized", "Authentication is missing or invalid."),
    403: ("Forbidden", "The caller's role or brands do not allow the request, or a browser sent no CSRF token."),
    404: ("NotFound", "The object does not exist, or the caller has no access to it."),
    408: ("RequestTimeout", "The body did not arrive in time."),
    409: ("Conflict", "The state of the object forbids the request."),
    413: ("ContentTooLarge", "The body is too large, or the request takes none."),
    422: ("UnprocessableContent", "A field or parameter is wrong; `field` names it."),
    429: ("TooManyRequests", "The rate limit is exceeded; `Retry-After` says when to send the next request."),
    503: ("ServiceUnavailable", "The database does not respond; try again after `Retry-After`."),
}  # name in openapi.json, and meaning
COUNT = {"type": "integer", "minimum": 0}
HEADERS: dict[str, Schema] = {
    "X-Request-Id": {
        "description": "Id of the request in logs and errors: the value of this header in the request, or a new id.",
        "required": True,
        "schema": {"type": "string", "minLength": 1, "maxLength": 128},
    },
    "RateLimit-Limit": {"description": "Number of requests that the caller may send at once.", "schema": COUNT},
    "RateLimit-Remaining": {"description": "Number of requests that the caller may send now.", "schema": COUNT},
    "RateLimit-Reset": {"description": "Seconds until the full limit is available again.", "schema": COUNT},
    "Retry-After": {
        "description": "Seconds to wait before the next attempt.",
        "required": True,
        "schema": COUNT,
    },
    "WWW-Authenticate": {
        "description": "How to authenticate.",
        "required": True,
        "schema": {"type": "string"},
    },
    "Set-Cookie": {"description": "The session cookie.", "schema": {"type": "string"}},
}
RATE_LIMIT_HEADERS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
SECURITY_SCHEMES = {
    "key": {"type": "http", "scheme": "bearer", "description": "An API key."},
    "session": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "The session of a signed-in browser."},
}


@routes.add("GET", "/v1/openapi.json", role=None, needs_store=False, in_schema=False)
async def get_openapi(context: Context) -> JSONResponse:
    """Get OpenAPI document.

    Returns this document.
    """
    return JSONResponse(context.request.app.openapi())


class DocumentedApi(FastAPI):
    """A FastAPI application whose OpenAPI document is completed from its routes."""

    def __init__(self, api_routes: Sequence[Route], lifespan: Callable[..., Any]) -> None:
        super().__init__(
            title=TITLE,
            version=VERSION,
            description=DESCRIPTION,
            lifespan=lifespan,
            docs_url=None,
            redoc_url=None,
            openapi_url=None,
            redirect_slashes=False,
            responses={"default": {"description": "An error."}},  # keeps FastAPI from adding its own 422
        )
        self.api_routes = [route for route in api_routes if route.in_schema]

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            Document(super().openapi(), self.api_routes).complete()
        return super().openapi()


class Document:
    """Completes what FastAPI generates: query parameters, responses, errors, security, links and tags."""

    def __init__(self, document: Schema, api_routes: Sequence[Route]) -> None:
        self.document, self.routes = document, api_routes

    def complete(self) -> None:
        components = self.document.setdefault("components", {})
        components["securitySchemes"] = SECURITY_SCHEMES
        components["schemas"] = {**components.get("schemas", {}), **self.schemas}
        components["headers"] = HEADERS
        components["responses"] = {name: render_error(status, text) for status, (name, text) in ERRORS.items()}
        used = {route.tag for route in self.routes}
        self.document["tags"] = [{"name": name, "description": text} for name, text in TAGS.items() if name in used]
        for route in self.routes:
            operation = self.document["paths"][route.path][route.method.lower()]
            if route.query:
                operation["parameters"] = [*operation.get("parameters", ()), *render_parameters(route)]
            if route.role is not None:
                operation["security"] = [{"key": []}, {"session": []}]
                operation["x-role"] = (
                    f"{route.role}, with access to all brands" if route.all_brands else f"{route.role}"
                )
            operation["responses"] = self.render_responses(route)

    @cached_property
    def response_types(self) -> list[Any]:
        types = [one for route in self.routes for one in route.responses.values() if one is not None]
        return [*(one for one in types if not isinstance(one, str)), ProblemDetailsView]

    @cached_property
    def generated(self) -> tuple[dict[int, Schema], dict[str, Schema]]:
        """Return a reference to each response type, by its identity, and all schemas by name."""
        adapters = [(id(one), "serialization", TypeAdapter(one)) for one in self.response_types]
        references, generated = TypeAdapter.json_schemas(
            adapters,  # type: ignore[arg-type]
            ref_template=REF,
            schema_generator=UntitledSchema,
        )
        return {one: rename_schemas(it) for (one, _), it in references.items()}, rename_schemas(generated["$defs"])

    @property
    def schemas(self) -> dict[str, Schema]:
        return self.generated[1]

    def render_responses(self, route: Route) -> Schema:
        responses = {str(status): self.render_response(route, status, it) for status, it in route.responses.items()}
        for link in route.links:
            responses[str(link.status)]["links"] = self.render_links(link)
        return responses | {str(status): render_route_error(route, status) for status in route.error_statuses}

    def render_response(self, route: Route, status: int, type_: Any) -> Schema:
        response: Schema = {
            "description": HTTPStatus(status).phrase,
            "headers": render_headers(status, limited=route.is_rate_limited),
        }
        if route.path == "/v1/login":
            response["headers"]["Set-Cookie"] = {"$ref": "#/components/headers/Set-Cookie"}
        match type_:
            case None:
                return response
            case str():
                return response | {"content": {type_: {"schema": {"type": "string"}}}}
            case _:
                return response | {"content": {"application/json": {"schema": self.generated[0][id(type_)]}}}

    def render_links(self, link: Link) -> Schema:
        """Link the id in a response to every operation whose path takes it."""
        parameter = link.to.rpartition("{")[2].removesuffix("}")
        names = [route.name for route in self.routes if route.path.startswith(link.to)]
        values = {parameter: f"$response.body#{link.pointer}"}
        return {name: {"operationId": name, "parameters": values} for name in names}


class UntitledSchema(GenerateJsonSchema):
    """JSON schemas without titles that repeat the names of fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def rename_schemas(schema: Any) -> Any:
    """Rename `PostView` to `Post` and `Page[PostView]` to `PostPage`, and drop titles."""
    match schema:
        case dict():
            parts = [(name, part) for name, part in schema.items() if name != "title" or not isinstance(part, str)]
            return {rename_schema(name): rename_schemas(part) for name, part in parts}
        case list():
            return [rename_schemas(part) for part in schema]
        case str():
            return rename_schema(schema)
        case _:
            return schema


def rename_schema(name: str) -> str:
    return VIEW.sub(r"\1\2\3", PAGE.sub(r"\1Page", name))


def render_parameters(route: Route) -> list[Schema]:
    return [
        {
            "name": parameter.name,
            "in": "query",
            "required": parameter.required,
            "description": parameter.description,
            "schema": {**parameter.schema},
        }
        for parameter in route.query
    ]


def render_route_error(route: Route, status: int) -> Schema:
    """Return a reference to the shared error, or the route's own one where it differs."""
    name, text = ERRORS[status]
    error = render_error(status, route.errors.get(status, text), limited=route.is_rate_limited)
    if route.role is None:
        error["headers"].pop("WWW-Authenticate", None)
    return error if error != render_error(status, text) else {"$ref": f"#/components/responses/{name}"}


def render_error(status: int, text: str, *, limited: bool = True) -> Schema:
    schema = {"$ref": REF.format(model=rename_schema(ProblemDetailsView.__name__))}
    content = {"application/problem+json": {"schema": schema}}
    return {"description": text, "headers": render_headers(status, limited=limited), "content": content}


def render_headers(status: int, *, limited: bool) -> Schema:
    names = ["X-Request-Id", *(RATE_LIMIT_HEADERS if limited else ())]
    if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        names.append("Retry-After")
    if status == HTTPStatus.UNAUTHORIZED:
        names.append("WWW-Authenticate")
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def get_document() -> dict[str, Any]:
    """Return the OpenAPI document of the whole API."""
    from postino.api.server import make_app
    from postino.config import load_config

    with tempfile.TemporaryDirectory() as folder:
        return make_app(load_config(Path(folder), environment={})).openapi()


def to_text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else "openapi.json").write_text(to_text(get_document()), encoding="utf-8")
