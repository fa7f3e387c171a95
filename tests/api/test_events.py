"""`/v1/events`: live, after an id, and limited to the caller's brands."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from typing import Any, Self
from urllib.parse import urlsplit

import pytest

from tests.api.browser import add_user, browser, log_in
from tests.api.fake_worker import key_for, put
from tests.api.processes import DEADLINE, Client, Server, eventually


class EventStreamClient:
    """Listens at /v1/events, line by line."""

    def __init__(self, client: Client, query: str = "", **headers: str) -> None:
        self.connection = http.client.HTTPConnection(urlsplit(client.url).netloc, timeout=DEADLINE)
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        self.connection.request("GET", f"/v1/events{query}", headers={**client.headers, **named})
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, self.answer.read()
        assert self.answer.headers["content-type"].startswith("text/event-stream")
        assert self.answer.readline() == b": listening\n"
        name, _, self.begun = self.answer.readline().decode().strip().partition(": ")
        assert (name, self.answer.readline()) == ("id", b"\n")

    def frames(self) -> Iterator[dict[str, Any]]:
        """Yield id, type and data of each event, without heartbeats."""
        body: dict[str, Any] = {}
        while line := self.answer.readline().decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if name in ("id", "event"):
                body[name] = value
            elif name == "data":
                body |= json.loads(value)
            elif not line.strip() and body:
                yield body
                body = {}

    def next(self) -> dict[str, Any]:
        return next(self.frames())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()


def cancel_new_job(client: Client, **fields: Any) -> str:
    """Create a job that has an event."""
    job: str = put(client, run_at="2099-01-01T00:00:00Z", **fields)["id"]
    assert client.ask("POST", f"/v1/jobs/{job}/cancel", {"reason": "a test of the event stream"}).status == 200
    return job


def test_event_arrives_immediately(server: Server) -> None:
    with EventStreamClient(server.api) as listener:
        begun = time.monotonic()
        job = cancel_new_job(server.api)
        result = listener.next()
        assert time.monotonic() - begun < 5
    assert (result["event"], result["type"], result["job_id"]) == ("job.cancelled", "job.cancelled", job)
    assert result["data"]["reason"] == "a test of the event stream"


def test_reconnecting_client_gets_missed_events_in_order(server: Server) -> None:
    with EventStreamClient(server.api) as listener:
        first = cancel_new_job(server.api)
        received = listener.next()
        assert received["job_id"] == first
    missed = [cancel_new_job(server.api) for _ in range(3)]
    with EventStreamClient(server.api, Last_Event_ID=received["id"]) as listener:
        frames = listener.frames()
        assert [next(frames)["job_id"] for _ in range(3)] == missed
        now = cancel_new_job(server.api)
        assert next(frames)["job_id"] == now
    with EventStreamClient(server.api, f"?after={received['id']}") as listener:
        assert listener.next()["job_id"] == missed[0]


def test_client_cut_off_before_the_first_event_misses_nothing(server: Server) -> None:
    with EventStreamClient(server.api) as listener:
        begun = listener.begun
    missed = [cancel_new_job(server.api) for _ in range(2)]
    with EventStreamClient(server.api, Last_Event_ID=begun) as listener:
        assert listener.begun == begun
        frames = listener.frames()
        assert [next(frames)["job_id"] for _ in range(2)] == missed


def test_client_reconnecting_under_load_misses_nothing(server: Server) -> None:
    with EventStreamClient(server.api) as listener:
        cancel_new_job(server.api)
        start = listener.next()["id"]
    made = [cancel_new_job(server.api) for _ in range(20)]
    more: list[str] = []
    happening = threading.Thread(target=lambda: more.extend(cancel_new_job(server.api) for _ in range(30)))
    with EventStreamClient(server.api), EventStreamClient(server.api, Last_Event_ID=start) as listener:
        happening.start()
        frames = listener.frames()
        received = [next(frames)["job_id"] for _ in range(50)]
        happening.join()
    assert received == made + more


def test_stream_is_filtered_by_type(server: Server) -> None:
    with EventStreamClient(server.api, "?types=gate.paused,gate.resumed") as listener:
        cancel_new_job(server.api)
        account = {"network": "bluesky", "handle": "types.example.org", "credentials": {"password": "x"}}
        name = server.api.ask("POST", "/v1/accounts", account).json["id"]
        server.api.ask("POST", f"/v1/accounts/{name}/pause")
        cancel_new_job(server.api)
    with EventStreamClient(server.api, "?types=account.state_changed") as listener:
        server.api.ask("POST", f"/v1/accounts/{name}/resume")
        assert listener.next()["data"]["account"] == name


def test_events_of_other_brands_are_not_sent(server: Server) -> None:
    acme, other = key_for(server, "acme"), key_for(server, "other")
    account = {
        "network": "bluesky",
        "handle": "received.example.org",
        "credentials": {"password": "x"},
        "brand": "other",
    }
    name = other.ask("POST", "/v1/accounts", account).json["id"]
    with (
        EventStreamClient(acme) as listener,
        EventStreamClient(other) as beside,
        EventStreamClient(server.api) as everything,
    ):
        jobs = [cancel_new_job(other, brand="other"), cancel_new_job(server.api), cancel_new_job(acme, brand="acme")]
        other.ask("POST", f"/v1/accounts/{name}/pause")
        last = cancel_new_job(acme, brand="acme")
        received, others, all_of_them = listener.frames(), beside.frames(), everything.frames()
        assert [next(received)["job_id"] for _ in range(2)] == [jobs[2], last]
        assert [next(others)["job_id"] for _ in range(2)] == [jobs[0], None]
        assert [next(all_of_them)["job_id"] for _ in range(5)] == [*jobs, None, last]


def test_account_events_go_to_the_brand_of_that_time(server: Server) -> None:
    acme, bolt = key_for(server, "acme"), key_for(server, "bolt")
    account = {"network": "bluesky", "handle": "moved.example.org", "credentials": {"password": "x"}}
    with EventStreamClient(acme) as listener, EventStreamClient(bolt) as beside:
        name = acme.ask("POST", "/v1/accounts", account | {"brand": "acme"}).json["id"]
        acme.ask("POST", f"/v1/accounts/{name}/pause", {"reason": "acme's own"})
        move = {"credentials": {"password": "x"}, "brand": "bolt"}
        assert server.api.ask("POST", f"/v1/accounts/{name}/reconnect", move).status == 200
        bolt.ask("POST", f"/v1/accounts/{name}/resume")
        bolt.ask("POST", f"/v1/accounts/{name}/pause", {"reason": "bolt's own"})
        last = cancel_new_job(acme, brand="acme")
        received, others = listener.frames(), beside.frames()
        results = [next(received) for _ in range(2)]
        assert [one["data"]["reason"] for one in results] == ["acme's own", "a test of the event stream"]
        assert (results[0]["brand"], results[1]["job_id"]) == ("acme", last)
        assert [next(others)["data"]["state"] for _ in range(2)] == ["active", "paused"]
    with EventStreamClient(bolt, Last_Event_ID=listener.begun) as again:
        assert next(again.frames())["data"]["state"] == "active"


@pytest.mark.slow
def test_stream_ends_when_access_ends(server: Server) -> None:
    removed = server.api.ask("POST", "/v1/api-keys", {"name": "removed", "role": "viewer"}).json
    users = {name: add_user(server, name) for name in ("leaves", "changes", "stays")}
    browsers = {name: browser(server, log_in(server, name)) for name in users}
    gone = {name: EventStreamClient(one) for name, one in browsers.items()}
    stays = gone.pop("stays")
    gone["removed"] = EventStreamClient(Client(server.api.url, {"Authorization": f"Bearer {removed['key']}"}))
    assert server.api.ask("DELETE", f"/v1/api-keys/{removed['id']}").status == 200
    assert browsers["leaves"].ask("POST", "/v1/logout").status in (200, 204)
    assert server.api.ask("PATCH", f"/v1/users/{users['changes']}", {"role": "viewer", "brands": ["x"]}).status == 200
    begun = time.monotonic()
    for name, listener in gone.items():
        [last] = listener.frames()
        assert (last["event"], "has ended or was changed" in last["detail"]) == ("closing", True), name
    assert time.monotonic() - begun < 10
    job = cancel_new_job(server.api)
    assert stays.next()["job_id"] == job
    for listener in (stays, *gone.values()):
        listener.connection.close()


def test_id_ahead_of_all_events_restarts_the_stream(server: Server) -> None:
    before = cancel_new_job(server.api)
    with EventStreamClient(server.api, Last_Event_ID="0-999999") as listener:
        frames = listener.frames()
        fields = next(frames)
        assert (fields["event"], "another database" in fields["detail"]) == ("restarted", True)
        assert "id" not in fields
        job = cancel_new_job(server.api)
        assert next(frames)["job_id"] == job != before
    with EventStreamClient(server.api, Last_Event_ID=listener.begun) as listener:
        assert listener.next()["job_id"] == job


@pytest.mark.parametrize(
    ("query", "headers", "field"),
    [
        ("?types=job.exploded", {}, "types"),
        ("?type=job.failed", {}, "type"),
        ("?after=x", {}, "Last-Event-ID"),
        ("", {"Last_Event_ID": "7"}, "Last-Event-ID"),
        ("", {"Last_Event_ID": "99999999999999999999-1"}, "Last-Event-ID"),
    ],
)
def test_invalid_parameter_is_named(server: Server, query: str, headers: dict[str, str], field: str) -> None:
    reply = server.api.ask("GET", f"/v1/events{query}", **headers)
    assert (reply.status, reply.json["field"]) == (422, field)


@pytest.mark.slow
def test_slow_listener_does_not_delay_a_hundred_others(server: Server) -> None:
    idle = EventStreamClient(server.api)  # never reads
    listeners = [EventStreamClient(server.api) for _ in range(100)]
    made = [cancel_new_job(server.api) for _ in range(10)]
    for listener in listeners:
        frames = listener.frames()
        assert [next(frames)["job_id"] for _ in range(10)] == made
    for listener in (idle, *listeners):
        listener.connection.close()
    eventually(lambda: server.api.ask("GET", "/health/live").status == 200)


@pytest.mark.slow
def test_stopping_server_ends_streams(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Server(tmp_path_factory.mktemp("stopping") / "data") as server, EventStreamClient(server.api) as listener:
        cancel_new_job(server.api)
        assert listener.next()["event"] == "job.cancelled"  # by now it is known to listen
        server.process.terminate()
        assert listener.next()["event"] == "closing"
        server.end()
