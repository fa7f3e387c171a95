"""The query parameters in openapi.json are those that the routes accept."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from postino.api.openapi import get_document
from tests.api.processes import Server

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
