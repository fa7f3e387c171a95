"""`/v1/events` against openapi.json; the fuzzer leaves out this route because it never ends."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from postino.client.types.events import EventView
from postino.values.event import EventType
from tests.api import openapi_check
from tests.api.processes import Client, Server
from tests.api.test_events import EventStreamClient, cancel_new_job

NO_TYPES = ("", ",", "job.*", "job.failed,", "x" * 5000, "%00", "%ff%fe", "%ED%A0%80", "%F0%9F%92%A5")
NO_PLACES = ("", "-", "7", "1-2-3", "-1-2", f"{2**63}-1", f"1-{2**63}", "1" * 400, "%00", "0-%D9%A1")


@pytest.mark.parametrize("types", NO_TYPES)
def test_unknown_event_type_is_rejected(server: Server, types: str) -> None:
    reply = server.api.ask("GET", f"/v1/events?types={types}")
    assert (reply.status, reply.json["field"]) == (422, "types"), reply


@pytest.mark.parametrize("after", NO_PLACES)
def test_invalid_event_id_is_rejected(server: Server, after: str) -> None:
    reply = server.api.ask("GET", f"/v1/events?after={after}")
    assert reply.status == 422, reply
    assert reply.json["field"] in ("Last-Event-ID", "after")


def test_stream_errors_are_documented(server: Server) -> None:
    stranger = Client(server.ready["url"])
    assert stranger.ask("GET", "/v1/events").status == 401
    assert server.api.ask("GET", "/v1/events?since=1").json["field"] == "since"
    assert server.api.ask("POST", "/v1/events", {}).status == 405


def test_stream_is_documented(server: Server) -> None:
    with EventStreamClient(server.api) as listener:
        headers = {name.lower(): text for name, text in listener.answer.getheaders()}
        openapi_check.check("GET", "/v1/events", listener.answer.status, headers, b": listening\n")
        cancel_new_job(server.api, brand="acme")
        result = dict(listener.next())
    assert result.pop("event") == EventType.CANCELLED
    TypeAdapter(EventView).validate_python(result, strict=True, extra="forbid")
