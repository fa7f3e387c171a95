"""`/v1/uncertain`: what the ledger knows, and lookups on the network."""

from __future__ import annotations

import pytest

from postino.values.outcome import Unknown
from tests.api.fake_worker import key_for, put, same_refusal, work
from tests.api.processes import Server, Up

NOBODY = "01932c07-5b1e-7cc3-98c4-dc0c0c07398f"


def test_uncertain_jobs_are_listed_by_brand(server: Server) -> None:
    acme, other = key_for(server, "acme"), key_for(server, "other")
    mine = put(acme, type="doubtful", brand="acme")["id"]
    work(server, lambda _: Unknown("The answer was lost."))
    [result] = acme.get("/v1/uncertain")["data"]
    assert (result["id"], result["trouble"], result["needs_person"]) == (mine, "The answer was lost.", True)
    assert (result["in_doubt"], result["intents"], result["receipts"]) == ([], [], [])
    assert len(acme.get(f"/v1/uncertain/{mine}")["history"]) == 1
    assert other.get("/v1/uncertain")["data"] == []
    foreign, missing = other.ask("GET", f"/v1/uncertain/{mine}"), other.ask("GET", f"/v1/uncertain/{NOBODY}")
    assert same_refusal(foreign, missing, mine, NOBODY)
    looked = acme.ask("POST", f"/v1/uncertain/{mine}/lookup")
    assert (looked.status, looked.json["result"], looked.json["candidates"]) == (200, "cannot_tell", [])
    assert other.ask("POST", f"/v1/uncertain/{mine}/lookup").status == 404
    acme.ask("POST", f"/v1/jobs/{mine}/resolve", {"verdict": "give_up", "reason": "over"})
    assert acme.get("/v1/uncertain")["data"] == []
    assert acme.ask("GET", f"/v1/uncertain/{mine}").status == 409
    assert server.api.ask("GET", "/v1/uncertain?state=x").json["field"] == "state"


def test_copy_of_a_database_asks_no_network(server: Server) -> None:
    """The credentials may belong to the other database: to refresh them here would disconnect it."""
    doubtful = put(server.api, type="doubtful")["id"]
    work(server, lambda _: Unknown("The answer was lost."))
    account = {"network": "bluesky", "handle": "anna.test", "credentials": {"identifier": "anna", "password": "x"}}
    name = server.api.ask("POST", "/v1/accounts", account).json["id"]
    answer = {"answer": "copy", "reason": "a copy for a test"}
    assert server.api.ask("POST", "/v1/database/accept", answer).json["standing"] == "copy"
    for path in (f"/v1/accounts/{name}/check", f"/v1/uncertain/{doubtful}/lookup"):
        refused = server.api.ask("POST", path)
        assert (refused.status, "postino database accept" in refused.json["detail"]) == (409, True), refused


@pytest.mark.slow
def test_lookup_without_network_support_changes_nothing(up: Up) -> None:
    account = next(one["id"] for one in up.api.get("/v1/accounts")["data"] if one["network"] == "telegram")
    up.fault("telegram", "process_then_drop")
    post = up.post("Was it sent?", account)
    up.wait_for_status(post["id"], "uncertain")
    looked = up.api.ask("POST", f"/v1/uncertain/{post['id']}/lookup").json
    assert (looked["result"], looked["reason"]) == (
        "cannot_tell", "The network has no way to ask whether the post arrived.",
    )  # fmt: skip
    [result] = up.api.get("/v1/uncertain?channel=telegram")["data"]
    assert result["in_doubt"] == ["post 1, attempt 1"]
    assert len(result["intents"]) == 1
    assert up.texts().count("Was it sent?") == 1
