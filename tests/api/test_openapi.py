"""openapi.json: derived from the routes, complete, and described down to every field."""

from __future__ import annotations

import json
import re
from typing import Any, Literal, get_args, get_origin

import pytest

from postino.api.openapi import ERRORS, TAGS, get_document, to_text
from postino.api.server import ROUTES
from postino.client.types import literals
from postino.rules.blockers import BlockerKind
from postino.rules.circuit_breaker import CircuitState
from postino.rules.post_status import ContentStatus, Flag, PostStatus
from postino.rules.quota import CalendarPeriod
from postino.rules.settlement import DeadLetterCause
from postino.values.auth import Role
from postino.values.content import MediaKind, Severity
from postino.values.event import EventType
from postino.values.gate import GateKind, Scope
from postino.values.job import Queue, State
from postino.values.ledger import ReceiptSource, Verdict
from postino.values.post import AccountState
from tests.documents import ROOT

STORED = ROOT / "openapi.json"
DOCUMENTED = {(route.method, route.path): route for route in ROUTES if route.in_schema}
VERBS = {
    "Accept",
    "Cancel",
    "Check",
    "Close",
    "Create",
    "Delete",
    "Discard",
    "Dispatch",
    "Edit",
    "End",
    "Evaluate",
    "Explain",
    "Get",
    "Import",
    "List",
    "Log",
    "Look",
    "Open",
    "Pause",
    "Publish",
    "Reconnect",
    "Replay",
    "Reset",
    "Resolve",
    "Resume",
    "Revoke",
    "Run",
    "Schedule",
    "Set",
    "Stream",
    "Validate",
}


@pytest.fixture(scope="module")
def document() -> Any:
    return json.loads(STORED.read_text(encoding="utf-8"))


def list_operations(document: Any) -> dict[tuple[str, str], dict[str, Any]]:
    """Return each operation with references to shared responses resolved."""

    def resolve(response: Any) -> Any:
        if "$ref" not in response:
            return response
        return document["components"]["responses"][response["$ref"].rpartition("/")[2]]

    return {
        (method.upper(), path): operation
        | {"responses": {status: resolve(response) for status, response in operation["responses"].items()}}
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }


def test_stored_file_is_up_to_date() -> None:
    """`make openapi` writes it."""
    assert STORED.read_text(encoding="utf-8") == to_text(get_document())


def test_every_route_is_documented_and_nothing_else(document: Any) -> None:
    assert {*list_operations(document)} == {*DOCUMENTED}


def test_operation_ids_are_unique_function_names(document: Any) -> None:
    names = [operation["operationId"] for operation in list_operations(document).values()]
    assert len(names) == len(set(names))
    for (method, path), operation in list_operations(document).items():
        name = operation["operationId"]
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", name), name
        assert not re.search(r"(^|_)v1(_|$)|_(get|post|patch|delete)$", name.removesuffix("_post")), name
        assert name.removesuffix("_legacy") == DOCUMENTED[method, path].endpoint.__name__


def test_every_operation_has_a_summary_of_verb_and_noun_and_a_description(document: Any) -> None:
    for operation in list_operations(document).values():
        summary, description = operation["summary"], operation["description"]
        assert summary.split()[0] in VERBS, summary
        assert len(summary.split()) >= 2, summary
        assert not summary.endswith("."), summary
        assert description.endswith("."), summary
        assert len(description) > len("Oldest first"), summary


def test_every_parameter_body_and_tag_has_a_description(document: Any) -> None:
    for operation in list_operations(document).values():
        for parameter in operation.get("parameters", ()):
            assert parameter.get("description"), (operation["operationId"], parameter["name"])
        assert {*operation["tags"]} <= {*TAGS}
    assert {tag["name"] for tag in document["tags"]} == {*TAGS}
    assert all(tag["description"] for tag in document["tags"])


def test_every_schema_and_every_field_has_a_description(document: Any) -> None:
    for name, schema in document["components"]["schemas"].items():
        assert schema.get("description"), name
        for field, part in schema.get("properties", {}).items():
            assert part.get("description"), (name, field)


def test_schema_names_have_no_view_suffix(document: Any) -> None:
    assert [name for name in document["components"]["schemas"] if name.endswith("View")] == []
    assert 'View"' not in STORED.read_text(encoding="utf-8")


@pytest.mark.parametrize("heading", ["Authentication", "Errors", "Pagination", "Rate limits", "Idempotency"])
def test_introduction_explains_what_all_operations_share(document: Any, heading: str) -> None:
    assert f"## {heading}\n" in document["info"]["description"]


def test_every_response_has_a_schema_and_a_request_id(document: Any) -> None:
    for request, operation in list_operations(document).items():
        assert "default" not in operation["responses"], request
        for status, response in operation["responses"].items():
            schemas = [content["schema"] for content in response.get("content", {}).values()]
            assert schemas or status == "204", (request, status)
            assert {} not in schemas, (request, status)
            assert "X-Request-Id" in response["headers"], (request, status)


def test_errors_are_problem_details(document: Any) -> None:
    for request, operation in list_operations(document).items():
        errors = {int(status): response for status, response in operation["responses"].items() if status >= "400"}
        assert [*errors] == DOCUMENTED[request].error_statuses
        for status, response in errors.items():
            assert [*response["content"]] == ["application/problem+json"]
            assert ("Retry-After" in response["headers"]) is (status in (429, 503))


@pytest.mark.parametrize(
    ("method", "path", "statuses"),
    [
        ("GET", "/health/live", []),
        ("GET", "/health/ready", [503]),
        ("GET", "/v1/posts", [401, 422, 429, 503]),
        ("GET", "/v1/posts/{post_id}", [401, 404, 422, 429, 503]),
        ("GET", "/v1/audit", [401, 403, 422, 429, 503]),
        ("GET", "/v1/workers", [401, 403, 422, 429, 503]),
        ("POST", "/v1/posts", [400, 401, 403, 408, 409, 413, 422, 429, 503]),
        ("POST", "/v1/imports", [401, 403, 408, 413, 422, 429, 503]),
        ("POST", "/v1/login", [400, 401, 403, 408, 413, 422, 429, 503]),
    ],
)
def test_error_statuses_follow_from_role_method_and_path(method: str, path: str, statuses: list[int]) -> None:
    assert DOCUMENTED[method, path].error_statuses == statuses


def test_every_error_status_is_used() -> None:
    assert {status for route in ROUTES for status in route.error_statuses} == {*ERRORS}


def test_schemas_list_the_values_of_enumerations(document: Any) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["Post"]["properties"]["status"]["enum"] == [*PostStatus]
    scheduled_at = schemas["Post"]["properties"]["scheduled_at"]
    assert (scheduled_at["type"], scheduled_at["format"]) == ("string", "date-time")
    assert "title" in schemas["Content"]["properties"]


@pytest.mark.parametrize(
    ("literal", "values"),
    [
        (literals.Role, Role),
        (literals.State, State),
        (literals.Status, PostStatus),
        (literals.ContentStatus, ContentStatus),
        (literals.Flag, Flag),
        (literals.Severity, Severity),
        (literals.MediaKind, MediaKind),
        (literals.Cause, DeadLetterCause),
        (literals.AccountState, AccountState),
        (literals.CircuitState, CircuitState),
        (literals.Scope, Scope),
        (literals.GateKind, GateKind),
        (literals.BlockerKind, BlockerKind),
        (literals.CallVerdict, Verdict),
        (literals.Source, ReceiptSource),
        (literals.CalendarWindow, CalendarPeriod),
        (literals.QueueName, [queue.label for queue in Queue]),
        (literals.EventName, EventType),
        (literals.PausedScope, {*Scope} - {Scope.SERVICE}),
        (literals.BlackoutScope, {*Scope} - {Scope.QUEUE, Scope.SERVICE}),
    ],
)
def test_literals_of_the_client_are_the_values_of_the_domain(literal: Any, values: Any) -> None:
    assert {*list_values(literal)} == {*map(str, values)}


def list_values(literal: Any) -> list[str]:
    if get_origin(literal) is Literal:
        return [*get_args(literal)]
    return [text for part in get_args(literal) for text in list_values(part)]
