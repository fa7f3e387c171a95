"""openapi.json is what the API says of itself: every answer by its shape, every refusal by its status."""

from __future__ import annotations

import json
from typing import Any, Literal, get_args, get_origin

import pytest

from postino.api.answers import ANSWERS
from postino.api.openapi import document, written
from postino.api.refusing import CONFLICTS, REASONS, refusals_of
from postino.client.types import literals as words
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
from tests.api.test_authorization import routes
from tests.documents import ROOT

KEPT = ROOT / "openapi.json"
UNTOLD = {("GET", "/"), ("GET", "/sign-in"), ("GET", "/v1/openapi.json")}  # pages, and the document itself


@pytest.fixture(scope="module")
def told() -> Any:
    return json.loads(KEPT.read_text(encoding="utf-8"))


def operations(told: Any) -> dict[tuple[str, str], dict[str, Any]]:
    """Each with its responses, wherever they are written."""

    def here(response: Any) -> Any:
        return told["components"]["responses"][response["$ref"].rpartition("/")[2]] if "$ref" in response else response

    return {
        (method.upper(), path): operation
        | {"responses": {status: here(response) for status, response in operation["responses"].items()}}
        for path, operations in told["paths"].items()
        for method, operation in operations.items()
    }


def test_the_file_that_is_kept_is_what_the_api_says() -> None:
    """`make openapi` writes it anew."""
    assert KEPT.read_text(encoding="utf-8") == written(document())


def test_every_operation_has_a_name_of_its_own(told: Any) -> None:
    names = [operation["operationId"] for operation in operations(told).values()]
    assert len(names) == len(set(names))


def test_every_route_says_what_it_answers_and_every_row_has_a_route(told: Any) -> None:
    assert {*routes()} - UNTOLD == {*ANSWERS} == {*operations(told)}


def test_nothing_is_answered_that_is_not_described(told: Any) -> None:
    for asked, operation in operations(told).items():
        assert "default" not in operation["responses"], asked
        for status, answer in operation["responses"].items():
            shapes = [content["schema"] for content in answer.get("content", {}).values()]
            assert shapes or status == "204", (asked, status)
            assert {} not in shapes, (asked, status)
            assert "X-Request-Id" in answer["headers"], (asked, status)


def test_refusals_are_problem_details_everywhere(told: Any) -> None:
    for (method, path), operation in operations(told).items():
        refused = {int(status): answer for status, answer in operation["responses"].items() if status >= "400"}
        assert [*refused] == refusals_of(method, path)
        for status, answer in refused.items():
            assert [*answer["content"]] == ["application/problem+json"]
            assert ("Retry-After" in answer["headers"]) is (status in (429, 503))


def test_what_is_refused_follows_from_who_is_let_in_the_method_and_the_address() -> None:
    assert refusals_of("GET", "/health/live") == []
    assert refusals_of("GET", "/health/ready") == [503]
    assert refusals_of("GET", "/v1/posts") == [401, 422, 429, 503]
    assert refusals_of("GET", "/v1/posts/{post_id}") == [401, 404, 422, 429, 503]
    assert refusals_of("GET", "/v1/audit") == [401, 403, 422, 429, 503]
    assert refusals_of("GET", "/v1/workers") == [401, 403, 422, 429, 503]
    assert refusals_of("POST", "/v1/posts") == [400, 401, 403, 408, 409, 413, 422, 429, 503]
    assert refusals_of("POST", "/v1/imports") == [401, 403, 408, 413, 422, 429, 503]
    assert refusals_of("POST", "/v1/login") == [400, 401, 403, 408, 413, 422, 429, 503]
    assert {status for asked in ANSWERS for status in refusals_of(*asked)} == {*REASONS}
    assert {*ANSWERS} >= CONFLICTS


def test_every_shape_is_described_and_closed_words_are_told(told: Any) -> None:
    """What is asked for is described by its route where there is one with its name."""
    schemas = told["components"]["schemas"]
    asked = json.dumps([operation.get("requestBody") for operation in operations(told).values()])
    undescribed = {name for name, schema in schemas.items() if "description" not in schema and f'/{name}"' not in asked}
    assert undescribed <= {"MediaBody", "OverrideBody"}
    assert schemas["Post"]["properties"]["status"]["enum"] == [*PostStatus]
    scheduled_at = schemas["Post"]["properties"]["scheduled_at"]
    assert (scheduled_at["type"], scheduled_at["format"]) == ("string", "date-time")
    assert "title" in schemas["Content"]["properties"]


@pytest.mark.parametrize(
    ("word", "there"),
    [
        (words.Role, Role),
        (words.State, State),
        (words.Status, PostStatus),
        (words.ContentStatus, ContentStatus),
        (words.Flag, Flag),
        (words.Severity, Severity),
        (words.MediaKind, MediaKind),
        (words.Cause, DeadLetterCause),
        (words.AccountState, AccountState),
        (words.CircuitState, CircuitState),
        (words.Scope, Scope),
        (words.GateKind, GateKind),
        (words.BlockerKind, BlockerKind),
        (words.CallVerdict, Verdict),
        (words.Source, ReceiptSource),
        (words.CalendarWindow, CalendarPeriod),
        (words.EventName, EventType),
        (words.QueueName, [queue.label for queue in Queue]),
        (words.BlackoutScope, {*Scope} - {Scope.QUEUE}),
    ],
)
def test_the_words_of_the_client_are_those_of_the_house(word: Any, there: Any) -> None:
    assert {*meant(word)} == {*map(str, there)}


def meant(word: Any) -> list[str]:
    if get_origin(word) is Literal:
        return [*get_args(word)]
    return [text for part in get_args(word) for text in meant(part)]
