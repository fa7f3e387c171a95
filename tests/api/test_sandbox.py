"""`/v1/sandbox` forwards to the sandbox."""

from __future__ import annotations

import pytest

from tests.api.fake_worker import key_for
from tests.api.processes import Server, Up


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "published"),
        ("GET", "faults"),
        ("POST", "faults"),
        ("DELETE", "faults"),
        ("GET", "calls"),
        ("POST", "reset"),
    ],
)
def test_requests_without_a_sandbox_get_404(server: Server, method: str, path: str) -> None:
    reply = server.api.ask(method, f"/v1/sandbox/{path}", {} if (method, path) == ("POST", "faults") else None)
    assert reply.status == 404
    assert "has no sandbox" in reply.json["detail"]


@pytest.mark.slow
def test_faults_are_created_listed_and_deleted(up: Up) -> None:
    fault = {"network": "bluesky", "fault": "rate_limited", "times": 1, "params": {"seconds": 1}}
    added = up.api.ask("POST", "/v1/sandbox/faults", fault)
    assert (added.status, added.json["fault"]) == (201, "rate_limited")
    assert [one["id"] for one in up.api.get("/v1/sandbox/faults")["data"]] == [added.json["id"]]
    assert up.api.ask("DELETE", f"/v1/sandbox/faults/{added.json['id']}").json == {"removed": 1}
    assert up.api.ask("DELETE", "/v1/sandbox/faults/7777").status == 404
    wrong = up.api.ask("POST", "/v1/sandbox/faults", fault | {"fault": "explode"})
    assert (wrong.status, wrong.json["field"]) == (422, "fault")
    assert wrong.headers["content-type"] == "application/problem+json"
    assert up.api.get("/v1/sandbox/published")["data"] == up.list_published()
    assert up.api.ask("GET", "/v1/sandbox/published?x=1").status == 422
    assert up.api.get("/v1/sandbox/calls").keys() == up.sandbox.get("/_sandbox/calls").keys()
    assert key_for(up, "acme").ask("GET", "/v1/sandbox/faults").status == 403
