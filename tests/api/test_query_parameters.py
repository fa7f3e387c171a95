"""The query parameters in openapi.json are those that the routes accept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import UUID

import pytest

from postino.api.events import parse_cursor
from postino.api.openapi import get_document
from postino.api.query import Parameter
from postino.api.routes import Route
from postino.api.server import ROUTES
from postino.errors import WrongUse
from tests.api.processes import Server

NOT_CANONICAL = (  # how Python, but no specification, writes the number 1 or 19999
    "01",
    "0000000019999",
    "0" * 18 + "1",
    "+1",
    "-1",
    "1_0",
    " 1",
    "1 ",
    "1\n",
    "1.0",
    "1e0",
    "1E2",
    "0x1",
    "0b1",
    "0o1",
    "\u0661",  # Arabic-Indic
    "\uff11",  # full width
    "\u00b2",  # superscript
    "\U0001d7cf",  # mathematical bold
    "1,0",
    "\u22121",
    "inf",
    "nan",
    "9223372036854775808",
    "9" * 5000,
    "",
)
NO_IDS = ("{01932c07-5b1e-7cc3-98c4-dc0c0c07398f}", "urn:uuid:01932c07-5b1e-7cc3-98c4-dc0c0c07398f", "_" * 32)
NOBODY = "01932c07-5b1e-7cc3-98c4-dc0c0c07398f"
NONSENSE = "q9q9q9"


def list_parameters() -> Iterator[tuple[str, str, set[str]]]:
    for path, operations in get_document()["paths"].items():
        for method, operation in operations.items():
            results = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"}
            if results:
                yield method.upper(), path, results


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("queries")) as server:
        yield server


def test_unknown_parameter_error_lists_the_documented_ones(server: Server) -> None:
    at = server.api.ask("POST", "/v1/jobs", {"type": "report", "payload": {}, "run_at": "2031-01-01T00:00:00Z"}).json
    blackout = {"start": "01:00", "end": "02:00", "timezone": "UTC"}
    results = []
    for method, path, item in list_parameters():
        address = re.sub(r"\{job_id\}", at["id"], path)
        address = re.sub(r"\{\w+\}", NOBODY, address)
        reply = server.api.ask(method, f"{address}?{NONSENSE}=1", blackout if path == "/v1/blackouts" else None)
        if reply.status == 404:  # one looks for the post before it looks at the question
            continue
        assert (reply.status, reply.json["field"]) == (422, NONSENSE), (method, path, reply)
        named = re.search(r"Use one of: (.*)\.", reply.json["detail"])
        assert named is not None, reply
        assert {*named[1].split(", ")} == item, (method, path)
        results.append(path)
    assert len(results) >= 20, "most were asked"


def list_parameters_like(example: str, kind: type) -> list[tuple[Route, Parameter[object]]]:
    """Return the query parameters of all routes that turn this text into a value of this kind."""
    parameters = []
    for route in ROUTES:
        for parameter in route.query:
            try:
                value = parameter.parse(example)
            except WrongUse:
                continue
            if type(value) is kind:
                parameters.append((route, parameter))
    return parameters


def accepts(parameter: Parameter[object], text: str) -> bool:
    try:
        parameter.parse(text)
    except WrongUse:
        return False
    return True


def test_numbers_in_queries_have_one_spelling() -> None:
    """A second spelling of a number, such as `0000000019999`, must not pass a check that the first does not."""
    parameters = list_parameters_like("1", int)
    assert {"limit", "window", "after", "cursor"} <= {parameter.name for _, parameter in parameters}
    for route, parameter in parameters:
        accepted = [text for text in NOT_CANONICAL if accepts(parameter, text)]
        assert not accepted, (route.path, parameter.name, accepted)
        for bound in ("minimum", "maximum"):
            if bound in parameter.schema:
                assert parameter.parse(str(parameter.schema[bound])) == parameter.schema[bound]
                beyond = parameter.schema[bound] + (1 if bound == "maximum" else -1)
                assert not accepts(parameter, str(beyond)), (route.path, parameter.name)


def test_ids_in_queries_have_one_spelling() -> None:
    parameters = list_parameters_like(NOBODY, type(UUID(NOBODY)))
    assert {"cursor", "parent"} <= {parameter.name for _, parameter in parameters}
    for _, parameter in parameters:
        for text in (*NO_IDS, NOBODY.replace("0", "\u0660"), NOBODY.replace("-", "")):
            assert not accepts(parameter, text), (parameter.name, text)


def test_event_ids_have_one_spelling() -> None:
    for text in NOT_CANONICAL:
        for cursor in (f"{text}-1", f"1-{text}"):
            with pytest.raises(WrongUse):
                parse_cursor(cursor)


def test_numbers_on_the_wire_are_parsed_strictly(server: Server) -> None:
    numeric = [(route.path, parameter.name) for route, parameter in list_parameters_like("1", int)]
    for path, name in numeric:
        if "{" in path:
            continue
        for text in ("0000000019999", "%2B1", "1_0", "%D9%A1", "1e2", "%EF%BC%91"):
            reply = server.api.ask("GET", f"{path}?{name}={text}")
            assert (reply.status, reply.json["field"]) == (422, name), (path, text, reply)
    for text in ("01", "%2B1", "1_0", "%D9%A1", "1e2", "-1"):
        reply = server.api.ask("DELETE", f"/v1/sandbox/faults/{text}")
        assert (reply.status, reply.json["field"]) == (422, "fault_id"), (text, reply)
