"""Routes: one `Route` value per endpoint, declared beside its function.

Authorization, query checks, body limits, OpenAPI and the test matrices are derived from these values.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from postino.api.query import Parameter
from postino.values.auth import Role

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
METHODS_WITH_BODY = frozenset({"POST", "PATCH", "PUT"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
EVENT_STREAM = "text/event-stream"


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """How large a request body may be. A file is passed on as it is, everything else must be JSON."""

    max_bytes: int = 1_000_000
    max_fields: int = 100
    is_file: bool = False


JSON_BODY = BodyLimit()


@dataclass(frozen=True, slots=True)
class Link:
    """Where a response holds the id that other operations take: an OpenAPI link.

    `to` is the path up to and including that id, such as `/v1/posts/{post_id}`; `pointer` is a JSON pointer.
    """

    status: int
    to: str
    pointer: str


@dataclass(frozen=True, kw_only=True)
class Route:
    """One endpoint. Its name, summary and description come from its function and the function's docstring."""

    method: str
    path: str
    endpoint: Callable[..., Any]
    tag: str
    name: str
    summary: str
    description: str
    role: Role | None  # the least role that may use it; None: no authentication
    all_brands: bool = False  # True: callers limited to some brands may not use it
    query: tuple[Parameter[Any], ...] = ()
    responses: Mapping[int, Any] = field(default_factory=dict)  # by status; None: no body; a text: a media type
    errors: Mapping[int, str] = field(default_factory=dict)  # what each error means here, where it needs saying
    links: tuple[Link, ...] = ()
    body: BodyLimit = JSON_BODY
    extra: Mapping[str, Any] = field(default_factory=dict)  # more keys of the OpenAPI operation
    needs_store: bool = True
    in_schema: bool = True

    @cached_property
    def takes_body(self) -> bool:
        return self.body.is_file or "body" in inspect.signature(self.endpoint).parameters

    @property
    def is_rate_limited(self) -> bool:
        return not self.path.startswith("/health/")

    @property
    def error_statuses(self) -> list[int]:
        """Return every error status: those declared, and those that follow from role, method and path."""
        statuses = set(self.errors)
        if self.role is not None:
            statuses |= {401, 422}  # 422: every route rejects unknown query parameters
            if self.role is not Role.VIEWER or self.all_brands or self.method not in SAFE_METHODS:
                statuses.add(403)  # by role or brands, or because a browser sent no CSRF token
        if self.takes_body:
            statuses |= {408, 413, 422} if self.body.is_file else {400, 408, 413, 422}
        elif self.method not in SAFE_METHODS:
            statuses.add(413)
        if "{" in self.path:
            statuses.add(404)
        if self.is_rate_limited:
            statuses.add(429)
        if self.needs_store:
            statuses.add(503)
        return sorted(statuses)


class Routes:
    """The routes of one module: `@routes.add("GET", "/v1/posts", role=Role.VIEWER, …)` declares one."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.routes: list[Route] = []

    def __iter__(self) -> Iterator[Route]:
        return iter(self.routes)

    def add(
        self, method: str, path: str, *, role: Role | None, legacy_path: str | None = None, **details: Any
    ) -> Callable[[Endpoint], Endpoint]:
        """Declare the decorated function as an endpoint; `legacy_path` is a second path for clients of fp-publisher.

        The first line of the docstring is the summary, the rest the description.
        """

        def declare(endpoint: Endpoint) -> Endpoint:
            summary, _, description = (inspect.getdoc(endpoint) or "").partition("\n")
            route = Route(
                method=method,
                path=path,
                endpoint=endpoint,
                tag=self.tag,
                name=endpoint.__name__,
                summary=summary.removesuffix("."),
                description=" ".join(description.split()),
                role=role,
                **details,
            )
            if legacy_path is not None:
                self.routes.append(make_legacy_route(route, legacy_path))
            self.routes.append(route)
            return endpoint

        return declare


def make_legacy_route(route: Route, path: str) -> Route:
    links = tuple(replace(link, to=link.to.replace("/v1/", "/fp-publisher/v1/", 1)) for link in route.links)
    return replace(
        route,
        path=path,
        name=f"{route.name}_legacy",
        summary=f"{route.summary} (legacy path)",
        description=f"The same as `{route.method} {route.path}`, for clients of fp-publisher.",
        links=links,
    )
