"""Pauses, channel caps and dispatch through the API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.processes import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server") / "data") as server:
        yield server


@pytest.mark.parametrize(("scope", "name"), [("all", ""), ("queue", "low"), ("channel", "bluesky"), ("brand", "acme")])
def test_pause_is_shown_until_resumed_and_is_audited(server: Server, scope: str, name: str) -> None:
    result = {"name": name, "reason": "recall"} if name else {"reason": "recall"}
    paused = server.api.ask("POST", f"/v1/gates/{scope}/pause", result)
    assert (paused.status, paused.json["kind"], paused.json["reason"]) == (200, "pause", "recall")
    [gate] = server.api.get("/v1/queues")["gates"]
    assert (gate["scope"], gate["name"], gate["sentence"]) == (scope, name, paused.json["sentence"])
    line = server.api.get("/v1/audit?limit=1")["data"][0]
    assert (line["actor"], line["action"], line["reason"]) == ("api", "gate.paused", "recall")
    assert server.api.ask("POST", f"/v1/gates/{scope}/resume", {"name": name}).status == 200
    assert server.api.get("/v1/queues")["gates"] == []
    assert server.api.ask("POST", f"/v1/gates/{scope}/resume", {"name": name}).status == 404


def test_channel_cap_is_set_and_removed(server: Server) -> None:
    assert server.api.ask("POST", "/v1/channels/bluesky/cap", {"cap": 2}).json == {"channel": "bluesky", "cap": 2}
    assert server.api.get("/v1/queues")["caps"]["bluesky"] == 2
    assert server.api.ask("POST", "/v1/channels/bluesky/cap", {"cap": None}).json["cap"] == 50, "of the settings"


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("gates/everything/pause", {}, "scope"),
        ("gates/queue/pause", {"name": "urgent"}, "queue"),
        ("gates/queue/pause", {}, "queue"),
        ("gates/channel/pause", {"name": "blusky"}, "channel"),
        ("gates/account/pause", {"name": "bluesky:nobody"}, "account"),
        ("gates/brand/pause", {"name": ""}, "name"),
        ("gates/brand/pause", {"name": "x" * 501}, "name"),
        ("gates/brand/end-cooldown", {"name": "acme"}, "scope"),
        ("channels/blusky/cap", {"cap": 1}, "channel"),
        ("channels/bluesky/cap", {"cap": -1}, "cap"),
        ("channels/bluesky/cap", {"cap": 10**9}, "cap"),
        ("channels/bluesky/cap", {}, "cap"),
    ],
)
def test_invalid_pause_or_cap_is_rejected(server: Server, path: str, body: dict[str, Any], field: str) -> None:
    refused = server.api.ask("POST", f"/v1/{path}", body)
    assert (refused.status, refused.json["field"]) == (422, field), refused
    assert server.api.get("/v1/queues")["gates"] == []


def test_due_jobs_are_dispatched_once(server: Server) -> None:
    server.api.ask("POST", "/v1/jobs", {"type": "report", "channel": "report"})
    assert server.api.ask("POST", "/v1/dispatch-due").json == {"dispatched": 1}
    assert server.api.ask("POST", "/v1/dispatch-due").json == {"dispatched": 0}
